//! Configs of topics and brokers, as commands show and change them.

use tidemill_client::admin::{Answers, ConfigChange, ConfigResource, ConfigSource};
use tidemill_client::{Admin, BrokerId, Result};

/// The configs of a topic.
pub(super) struct TopicConfigs {
    /// Each config, by name.
    pub(super) entries: Vec<ShownConfig>,
}

/// A config as it is shown.
pub(super) struct ShownConfig {
    pub(super) name: String,
    pub(super) value: Option<String>,
    /// Where the value comes from: topic, cluster, broker, file, default.
    pub(super) source: &'static str,
    pub(super) documentation: Option<String>,
}

impl TopicConfigs {
    /// Keeps those that are set for the topic itself.
    pub(super) fn keep_own(&mut self) {
        self.entries.retain(|entry| entry.source == TOPIC_SOURCE);
    }
}

const TOPIC_SOURCE: &str = "topic";

/// The configs of a topic, with documentation.
///
/// # Errors
/// Those of the client.
pub(super) async fn topic_configs(admin: &Admin, topic: &str) -> Result<TopicConfigs> {
    let resource = ConfigResource::Topic(topic.to_owned());
    let mut entries: Vec<ShownConfig> = only(admin.describe_configs(&[resource], true).await?)?
        .into_iter()
        .map(|entry| ShownConfig {
            name: entry.name,
            value: entry.value,
            source: source_name(entry.source),
            documentation: entry.documentation,
        })
        .collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(TopicConfigs { entries })
}

/// Sets and resets configs of a topic: all, or none.
///
/// # Errors
/// Those of the client.
pub(super) async fn alter_topic_configs(
    admin: &Admin,
    topic: &str,
    set: &[(String, String)],
    unset: &[String],
) -> Result<()> {
    let set = set.iter().map(|(name, value)| ConfigChange::Set(name.clone(), value.clone()));
    let unset = unset.iter().map(|name| ConfigChange::Reset(name.clone()));
    let changes: Vec<ConfigChange> = set.chain(unset).collect();
    admin.alter_configs(&ConfigResource::Topic(topic.to_owned()), &changes, false).await
}

/// A config of a broker, if it has one of that name.
///
/// # Errors
/// Those of the client.
pub(super) async fn broker_config(
    admin: &Admin,
    broker: BrokerId,
    name: &str,
) -> Result<Option<String>> {
    let entries = only(admin.describe_configs(&[ConfigResource::Broker(broker)], false).await?)?;
    Ok(entries.into_iter().find(|entry| entry.name == name).and_then(|entry| entry.value))
}

fn only<K, T: Default>(answers: Answers<K, T>) -> Result<T> {
    answers.into_iter().next().map_or_else(|| Ok(T::default()), |(_, answer)| answer)
}

fn source_name(source: ConfigSource) -> &'static str {
    match source {
        ConfigSource::Topic => TOPIC_SOURCE,
        ConfigSource::Broker => "broker",
        ConfigSource::AllBrokers => "cluster",
        ConfigSource::File => "file",
        ConfigSource::Default => "default",
        ConfigSource::Other(_) => "other",
    }
}
