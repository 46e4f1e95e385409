//! What DescribeConfigs shows.

use std::collections::BTreeMap;

use super::effective::{broker_value, topic_value};
use super::{BROKER_CONFIGS, BROKER_READ_ONLY, ConfigType, TOPIC_CONFIGS, broker_config};

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigSource {
    /// Set on the topic.
    Topic,
    /// Altered for the whole cluster.
    Cluster,
    /// Given when the broker was started.
    Startup,
    /// The default.
    Default,
}

/// One of the values that a config would fall back to, the one in force first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Synonym {
    /// The config that holds it.
    pub name: &'static str,
    /// The value.
    pub value: String,
    /// Where it comes from.
    pub source: ConfigSource,
}

/// A config as DescribeConfigs shows it. None here is sensitive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigEntry {
    /// Its name.
    pub name: &'static str,
    /// The value in force.
    pub value: String,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Its type.
    pub kind: ConfigType,
    /// Whether it can only be set where the broker is started.
    pub read_only: bool,
    /// What it does here.
    pub documentation: &'static str,
    /// The values it is chosen from, the one in force first.
    pub synonyms: Vec<Synonym>,
}

/// Every config of a topic with these overrides in a cluster with those, on a broker that was
/// started with `startup`.
#[must_use]
pub fn describe_topic(
    topic: &BTreeMap<String, String>,
    cluster: &BTreeMap<String, String>,
) -> Vec<ConfigEntry> {
    let entry = |config: &super::Config| {
        let mut synonyms = Vec::new();
        let mut add = |name, value: Option<&str>, source| {
            synonyms.extend(value.map(|value| Synonym { name, value: value.to_owned(), source }));
        };
        add(config.name, topic.get(config.name).map(String::as_str), ConfigSource::Topic);
        if let Some(behind) = config.behind {
            add(behind, cluster.get(behind).map(String::as_str), ConfigSource::Cluster);
        }
        let behind = config.behind.unwrap_or(config.name);
        add(behind, Some(config.default), ConfigSource::Default);
        ConfigEntry {
            name: config.name,
            value: topic_value(config.name, topic, cluster).to_owned(),
            source: synonyms[0].source,
            kind: config.kind,
            read_only: false,
            documentation: config.documentation,
            synonyms,
        }
    };
    TOPIC_CONFIGS.iter().map(entry).collect()
}

/// Every config of a broker that was started with `startup` (values by name, of either table) in a
/// cluster with these overrides.
#[must_use]
pub fn describe_broker(
    cluster: &BTreeMap<String, String>,
    startup: &BTreeMap<String, String>,
) -> Vec<ConfigEntry> {
    let altered = BROKER_CONFIGS.iter().map(|config| {
        let mut synonyms = Vec::new();
        let mut add = |value: Option<&str>, source| {
            synonyms.extend(value.map(|value| Synonym {
                name: config.name,
                value: value.to_owned(),
                source,
            }));
        };
        add(cluster.get(config.name).map(String::as_str), ConfigSource::Cluster);
        add(startup.get(config.name).map(String::as_str), ConfigSource::Startup);
        add(broker_config(config.name).ok().map(|config| config.default), ConfigSource::Default);
        ConfigEntry {
            name: config.name,
            value: broker_value(config, cluster, startup).to_owned(),
            source: synonyms[0].source,
            kind: config.kind,
            read_only: false,
            documentation: config.documentation,
            synonyms,
        }
    });
    let fixed = BROKER_READ_ONLY.iter().filter_map(|config| {
        let value = startup.get(config.name)?;
        Some(ConfigEntry {
            name: config.name,
            value: value.clone(),
            source: ConfigSource::Startup,
            kind: config.kind,
            read_only: true,
            documentation: config.documentation,
            synonyms: vec![Synonym {
                name: config.name,
                value: value.clone(),
                source: ConfigSource::Startup,
            }],
        })
    });
    altered.chain(fixed).collect()
}
