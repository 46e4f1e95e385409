//! The tables of configs are sound, and say what is in force.

use std::collections::BTreeMap;

use super::*;
use crate::command::{ConfigChange, ConfigOperation};

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn tables_are_sorted_and_their_defaults_hold() {
    for table in [TOPIC_CONFIGS, BROKER_CONFIGS] {
        assert!(table.windows(2).all(|pair| pair[0].name < pair[1].name));
        for config in table {
            assert_eq!(config.check(config.default), Ok(()), "{}", config.name);
            assert!(config.documentation.ends_with('.'), "{}", config.name);
        }
    }
    assert!(BROKER_READ_ONLY.windows(2).all(|pair| pair[0].name < pair[1].name));
    for config in TOPIC_CONFIGS {
        if let Some(behind) = config.behind {
            let broker = broker_config(behind).expect("the config behind it exists");
            assert_eq!(broker.default, config.default, "{behind}");
            assert_eq!(broker.kind, config.kind, "{behind}");
        }
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    assert!(matches!(topic_config("message.format.version"), Err(ConfigError::Unsupported { .. })));
    assert!(matches!(topic_config("no.such"), Err(ConfigError::Unknown { .. })));
    assert!(matches!(broker_config("listeners"), Err(ConfigError::ReadOnly { .. })));
    assert!(matches!(broker_config("no.such"), Err(ConfigError::Unknown { .. })));
    for (name, value) in [
        ("cleanup.policy", "compact"),
        ("cleanup.policy", "compact,delete"),
        ("compression.type", "zstd"),
        ("remote.storage.enable", "true"),
        ("retention.ms", "-2"),
        ("retention.ms", "1.5"),
        ("max.message.bytes", "2147483648"),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("min.cleanable.dirty.ratio", "NaN"),
        ("message.timestamp.type", "createtime"),
        ("preallocate", "yes"),
        ("segment.ms", &format!("{:65}", 5)),
        ("tidemill.validate", "none"),
        ("leader.replication.throttled.replicas", &"x".repeat(LIST_BYTES_MAX + 1)),
    ] {
        let config = topic_config(name).expect("it exists");
        assert!(matches!(config.check(value), Err(ConfigError::Value { .. })), "{name}={value}");
    }
}

#[test]
fn lists_are_appended_to_and_subtracted_from() {
    let change = |name: &str, operation| ConfigChange { name: name.to_owned(), operation };
    let list = "leader.replication.throttled.replicas";
    let current = map(&[(list, "a,b")]);
    let with = |operation| changed(&current, false, &[change(list, operation)], topic_config);
    let appended = with(ConfigOperation::Append("c, a".to_owned())).expect("it is a list");
    assert_eq!(appended, map(&[(list, "a,b,c")]));
    let subtracted = with(ConfigOperation::Subtract("a".to_owned())).expect("it is a list");
    assert_eq!(subtracted, map(&[(list, "b")]));
    let no_list = change("retention.ms", ConfigOperation::Append("1".to_owned()));
    let refused = changed(&current, false, &[no_list], topic_config);
    assert_eq!(refused, Err(ConfigError::NotAList { name: "retention.ms" }));
}

#[test]
fn descriptions_name_every_value_that_could_be_in_force() {
    let topic = map(&[("retention.ms", "5")]);
    let cluster = map(&[("log.retention.ms", "6"), ("log.retention.bytes", "7")]);
    let entries = describe_topic(&topic, &cluster);
    assert_eq!(entries.len(), TOPIC_CONFIGS.len());
    let entry = |name| entries.iter().find(|entry| entry.name == name).expect("it is described");
    let ms = entry("retention.ms");
    assert_eq!((ms.value.as_str(), ms.source, ms.read_only), ("5", ConfigSource::Topic, false));
    let synonyms: Vec<_> = ms
        .synonyms
        .iter()
        .map(|synonym| (synonym.name, synonym.value.as_str(), synonym.source))
        .collect();
    assert_eq!(
        synonyms,
        [
            ("retention.ms", "5", ConfigSource::Topic),
            ("log.retention.ms", "6", ConfigSource::Cluster),
            ("log.retention.ms", "604800000", ConfigSource::Default),
        ]
    );
    let bytes = entry("retention.bytes");
    assert_eq!((bytes.value.as_str(), bytes.source), ("7", ConfigSource::Cluster));
    let flush = entry("flush.ms");
    assert_eq!(flush.source, ConfigSource::Default);

    let startup = map(&[("node.id", "3"), ("num.partitions", "8")]);
    let entries = describe_broker(&map(&[]), &startup);
    let entry = |name| entries.iter().find(|entry| entry.name == name).expect("it is described");
    assert_eq!(entry("node.id").source, ConfigSource::Startup);
    assert!(entry("node.id").read_only);
    assert_eq!(entry("num.partitions").value, "8");
    assert_eq!(entry("num.partitions").source, ConfigSource::Startup);
    assert_eq!(entries.len(), BROKER_CONFIGS.len() + 1);
}

#[test]
fn what_is_in_force_is_typed() {
    let topic = map(&[
        ("message.timestamp.type", "LogAppendTime"),
        ("tidemill.validate", "header"),
        ("retention.ms", "-1"),
        ("retention.bytes", "0"),
    ]);
    let cluster = map(&[("message.max.bytes", "77"), ("auto.create.topics.enable", "true")]);
    let config = TopicConfig::of(&topic, &cluster);
    assert_eq!(
        config,
        TopicConfig {
            retention_ms: None,
            retention_bytes: Some(0),
            message_bytes_max: 77,
            timestamp_type: TimestampType::LogAppendTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            validation: Validation::Header,
        }
    );
    let cluster = ClusterConfig::of(&cluster);
    assert_eq!(cluster.auto_create_topics, Some(true));
    assert_eq!(cluster.offsets_retention_ms, None);
    assert_eq!(TopicConfig::default().retention_ms, Some(604_800_000));
}
