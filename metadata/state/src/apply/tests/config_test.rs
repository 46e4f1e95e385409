//! Altering configs.

use crate::command::{AlterConfigs, ConfigChange, ConfigOperation, ConfigResource};
use crate::configs::ConfigError;
use crate::event::Event;
use crate::harness::Harness;
use crate::outcome::Outcome;
use crate::refusal::Refusal;

fn set(name: &str, value: &str) -> ConfigChange {
    ConfigChange { name: name.to_owned(), operation: ConfigOperation::Set(value.to_owned()) }
}

fn delete(name: &str) -> ConfigChange {
    ConfigChange { name: name.to_owned(), operation: ConfigOperation::Delete }
}

#[test]
fn changes_are_all_made_or_none() {
    let mut cluster = Harness::new();
    cluster.topic("t", 1);
    let resource = ConfigResource::Topic(cluster.topic_id("t"));
    let changes = vec![set("retention.ms", "5"), set("retention.bytes", "many")];
    let outcome = cluster.apply(AlterConfigs { resource, replace_all: false, changes });
    assert!(matches!(outcome, Outcome::Refused(Refusal::Config(ConfigError::Value { .. }))));
    let topic = cluster.state.topic("t").expect("it exists").clone();
    assert!(topic.configs.is_empty());
    assert_eq!(cluster.state.topic_config(&topic).retention_ms, Some(604_800_000));
}

#[test]
fn incremental_changes_keep_the_rest_and_replacing_ones_do_not() {
    let mut cluster = Harness::new();
    cluster.topic("t", 1);
    let topic = cluster.topic_id("t");
    let resource = ConfigResource::Topic(topic);
    let mut alter = |replace_all, changes| {
        let outcome = cluster.apply(AlterConfigs { resource, replace_all, changes });
        assert_eq!(outcome, Outcome::Done);
        let configs = cluster.state.topic("t").expect("it exists").configs.clone();
        let event = Event::TopicConfigured { topic, configs: configs.clone() };
        assert_eq!(cluster.events(), [event]);
        configs.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    alter(false, vec![set("retention.ms", "5")]);
    let both = alter(false, vec![set("segment.ms", "7")]);
    assert_eq!(both, ["retention.ms=5", "segment.ms=7"]);
    let one = alter(false, vec![delete("retention.ms")]);
    assert_eq!(one, ["segment.ms=7"]);
    let replaced = alter(true, vec![set("retention.bytes", "9")]);
    assert_eq!(replaced, ["retention.bytes=9"]);
}

#[test]
fn cluster_configs_are_the_defaults_of_topics() {
    let mut cluster = Harness::new();
    cluster.topic("t", 1);
    let changes = vec![set("log.retention.ms", "77"), set("num.partitions", "4")];
    let resource = ConfigResource::Cluster;
    let alter = AlterConfigs { resource, replace_all: false, changes };
    assert_eq!(cluster.apply(alter), Outcome::Done);
    let topic = cluster.state.topic("t").expect("it exists");
    assert_eq!(cluster.state.topic_config(topic).retention_ms, Some(77));
    let projected = cluster.projection.topic_config(topic.id).expect("it exists");
    assert_eq!(projected.retention_ms, Some(77));
    assert_eq!(cluster.projection.cluster_config().partitions_default, Some(4));
    let changes = vec![set("node.id", "4")];
    let read_only = AlterConfigs { resource, replace_all: false, changes };
    let refused = Refusal::Config(ConfigError::ReadOnly { name: "node.id" });
    assert_eq!(cluster.apply(read_only), Outcome::Refused(refused));
}
