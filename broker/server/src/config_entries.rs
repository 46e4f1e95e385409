//! Configs as the wire shows them.

use std::collections::BTreeMap;

use tidemill_metadata_state::configs::{ConfigEntry, ConfigSource, ConfigType, describe_topic};

use crate::broker::Broker;

/// Every config of a topic with these overrides.
#[must_use]
pub fn of_topic(broker: &Broker, overrides: &BTreeMap<String, String>) -> Vec<ConfigEntry> {
    describe_topic(overrides, broker.view.projection().cluster_configs())
}

/// Kafka's number of a source.
#[must_use]
pub fn source_number(source: ConfigSource) -> i8 {
    match source {
        ConfigSource::Topic => 1,
        ConfigSource::Cluster => 3,
        ConfigSource::Startup => 4,
        ConfigSource::Default => 5,
    }
}

/// Kafka's number of a type.
#[must_use]
pub fn type_number(kind: ConfigType) -> i8 {
    match kind {
        ConfigType::Boolean => 1,
        ConfigType::String => 2,
        ConfigType::Int => 3,
        ConfigType::Long => 5,
        ConfigType::Double => 6,
        ConfigType::List => 7,
    }
}
