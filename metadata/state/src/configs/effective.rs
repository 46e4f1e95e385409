//! The configs in force, typed for those who act on them.

use std::collections::BTreeMap;

use super::{Config, broker_config, topic_config};

/// Whose timestamps records carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TimestampType {
    /// The producer's.
    #[default]
    CreateTime,
    /// The admitting broker's.
    LogAppendTime,
}

/// How far batches are checked before they are accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Validation {
    /// Every record.
    #[default]
    Records,
    /// The batch header only.
    Header,
}

/// The configs of a topic that something acts on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicConfig {
    /// How long records are kept, in milliseconds; `None` without limit.
    pub retention_ms: Option<i64>,
    /// How many bytes each partition keeps; `None` without limit.
    pub retention_bytes: Option<u64>,
    /// The largest batch, in bytes.
    pub message_bytes_max: u32,
    /// Whose timestamps records carry.
    pub timestamp_type: TimestampType,
    /// How far a timestamp may lie behind the admitting broker's clock, in milliseconds.
    pub timestamp_before_max_ms: i64,
    /// How far a timestamp may lie ahead of the admitting broker's clock, in milliseconds.
    pub timestamp_after_max_ms: i64,
    /// How far batches are checked.
    pub validation: Validation,
}

impl TopicConfig {
    /// What is in force for a topic with these overrides in a cluster with those.
    #[must_use]
    pub fn of(topic: &BTreeMap<String, String>, cluster: &BTreeMap<String, String>) -> Self {
        let whole = |name| topic_value(name, topic, cluster).trim().parse::<i64>().unwrap_or(-1);
        let is = |name, value: &str| topic_value(name, topic, cluster) == value;
        Self {
            retention_ms: Some(whole("retention.ms")).filter(|ms| *ms >= 0),
            retention_bytes: u64::try_from(whole("retention.bytes")).ok(),
            message_bytes_max: u32::try_from(whole("max.message.bytes")).unwrap_or(u32::MAX),
            timestamp_type: if is("message.timestamp.type", "LogAppendTime") {
                TimestampType::LogAppendTime
            } else {
                TimestampType::CreateTime
            },
            timestamp_before_max_ms: whole("message.timestamp.before.max.ms"),
            timestamp_after_max_ms: whole("message.timestamp.after.max.ms"),
            validation: if is("tidemill.validate", "header") {
                Validation::Header
            } else {
                Validation::Records
            },
        }
    }
}

impl Default for TopicConfig {
    fn default() -> Self {
        Self::of(&BTreeMap::new(), &BTreeMap::new())
    }
}

/// The configs of the cluster that something acts on, as far as they were altered. What is `None`
/// is as the broker was started, or else the default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClusterConfig {
    /// Whether topics are created when a client asks for them.
    pub auto_create_topics: Option<bool>,
    /// How many partitions a topic gets that is created without saying.
    pub partitions_default: Option<u32>,
    /// The replication factor echoed for topics created without one.
    pub replication_factor_default: Option<i16>,
    /// How long committed offsets are kept once a group has no members, in milliseconds.
    pub offsets_retention_ms: Option<i64>,
    /// How long an idle producer is remembered, in milliseconds.
    pub producer_id_expiration_ms: Option<i64>,
    /// How long the first rebalance of an empty group waits, in milliseconds.
    pub group_initial_rebalance_delay_ms: Option<i32>,
    /// The shortest session timeout, in milliseconds.
    pub group_session_timeout_min_ms: Option<i32>,
    /// The longest session timeout, in milliseconds.
    pub group_session_timeout_max_ms: Option<i32>,
    /// The most members of a group.
    pub group_members_max: Option<u32>,
}

impl ClusterConfig {
    /// What is in force with these overrides.
    #[must_use]
    pub fn of(cluster: &BTreeMap<String, String>) -> Self {
        let whole = |name: &str| cluster.get(name)?.trim().parse::<i64>().ok();
        let int = |name| whole(name).and_then(|value| i32::try_from(value).ok());
        Self {
            auto_create_topics: cluster
                .get("auto.create.topics.enable")
                .map(|value| value == "true"),
            partitions_default: whole("num.partitions").and_then(|value| value.try_into().ok()),
            replication_factor_default: whole("default.replication.factor")
                .and_then(|value| value.try_into().ok()),
            offsets_retention_ms: whole("offsets.retention.minutes")
                .map(|minutes| minutes.saturating_mul(60_000)),
            producer_id_expiration_ms: whole("producer.id.expiration.ms"),
            group_initial_rebalance_delay_ms: int("group.initial.rebalance.delay.ms"),
            group_session_timeout_min_ms: int("group.min.session.timeout.ms"),
            group_session_timeout_max_ms: int("group.max.session.timeout.ms"),
            group_members_max: whole("group.max.size").and_then(|value| value.try_into().ok()),
        }
    }
}

/// The text in force of a topic config.
pub(super) fn topic_value<'a>(
    name: &str,
    topic: &'a BTreeMap<String, String>,
    cluster: &'a BTreeMap<String, String>,
) -> &'a str {
    let config = topic_config(name).ok();
    let behind = config.and_then(|config| config.behind);
    topic
        .get(name)
        .or_else(|| cluster.get(behind?))
        .map(String::as_str)
        .or_else(|| config.map(|config| config.default))
        .unwrap_or_default()
}

/// The text in force of a broker config, on a broker that was started with `startup`.
pub(super) fn broker_value<'a>(
    config: &Config,
    cluster: &'a BTreeMap<String, String>,
    startup: &'a BTreeMap<String, String>,
) -> &'a str {
    cluster
        .get(config.name)
        .or_else(|| startup.get(config.name))
        .map(String::as_str)
        .or_else(|| broker_config(config.name).ok().map(|config| config.default))
        .unwrap_or_default()
}
