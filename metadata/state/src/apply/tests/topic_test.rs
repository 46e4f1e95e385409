//! Topics and partitions.

use tidemill_base::{PartitionId, TopicId};
use uuid::Uuid;

use crate::command::{CreatePartitions, CreateTopic, DeleteTopic};
use crate::configs::ConfigError;
use crate::event::Event;
use crate::harness::Harness;
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::refusal::Refusal;

fn create(name: &str) -> CreateTopic {
    CreateTopic {
        name: name.to_owned(),
        id: TopicId(Uuid::from_u128(50)),
        partitions: 1,
        replication_factor: 3,
        configs: vec![],
    }
}

#[test]
fn topics_are_created_with_partitions_of_their_own() {
    let mut cluster = Harness::new();
    let outcome = cluster.apply(CreateTopic { partitions: 3, ..create("a") });
    let ids = vec![PartitionId(1), PartitionId(2), PartitionId(3)];
    assert_eq!(outcome, Outcome::Partitions(ids.clone()));
    let topic = cluster.state.topic("a").expect("it exists").clone();
    assert_eq!((topic.replication_factor, &topic.partitions), (3, &ids));
    assert_eq!(cluster.events(), [Event::TopicCreated(topic)]);
}

#[test]
fn names_follow_kafkas_rules() {
    let mut cluster = Harness::new();
    let long = "x".repeat(250);
    for name in ["", ".", "..", "a b", "a/b", "ä", &long] {
        let outcome = cluster.apply(create(name));
        assert!(matches!(outcome, Outcome::Refused(Refusal::TopicName(_))), "{name}");
    }
    assert!(matches!(cluster.apply(create("A-b_c.9")), Outcome::Partitions(_)));
}

#[test]
fn what_a_topic_cannot_have_is_refused() {
    let mut cluster = Harness::new();
    let refused = |outcome| match outcome {
        Outcome::Refused(refusal) => refusal,
        other => panic!("{other:?}"),
    };
    cluster.topic("taken", 1);
    let taken = cluster.topic_id("taken");
    assert_eq!(refused(cluster.apply(create("taken"))), Refusal::TopicExists);
    let again = CreateTopic { id: taken, ..create("a") };
    assert_eq!(refused(cluster.apply(again)), Refusal::TopicExists);
    let zero = CreateTopic { id: TopicId(Uuid::nil()), ..create("a") };
    assert!(matches!(refused(cluster.apply(zero)), Refusal::Malformed(_)));
    for replication_factor in [0, -2, 101] {
        let topic = CreateTopic { replication_factor, ..create("a") };
        assert_eq!(refused(cluster.apply(topic)), Refusal::ReplicationFactor);
    }
    for partitions in [0, 10_001, u32::MAX] {
        let topic = CreateTopic { partitions, ..create("a") };
        assert!(matches!(refused(cluster.apply(topic)), Refusal::PartitionCount(_)));
    }
    let configs = vec![("cleanup.policy".to_owned(), "compact".to_owned())];
    let topic = CreateTopic { configs, ..create("a") };
    let refusal = refused(cluster.apply(topic));
    assert!(
        matches!(refusal, Refusal::Config(ConfigError::Value { name: "cleanup.policy", .. })),
        "{refusal:?}"
    );
    assert!(cluster.state.topic("a").is_none());
}

#[test]
fn partitions_are_only_ever_added() {
    let mut cluster = Harness::new();
    cluster.topic("a", 2);
    cluster.topic("b", 1);
    let topic = cluster.topic_id("a");
    let add = |partitions_total| CreatePartitions { topic, partitions_total };
    assert_eq!(cluster.apply(add(4)), Outcome::Partitions(vec![PartitionId(4), PartitionId(5)]));
    for total in [0, 3, 4, 10_001] {
        let outcome = cluster.apply(add(total));
        assert!(matches!(outcome, Outcome::Refused(Refusal::PartitionCount(_))), "{total}");
    }
    let topic = TopicId(Uuid::from_u128(77));
    let unknown = CreatePartitions { topic, partitions_total: 3 };
    assert_eq!(cluster.apply(unknown), Outcome::Refused(Refusal::UnknownTopic));
}

#[test]
fn the_tables_are_bounded() {
    let limits = Limits { topics_max: 2, partitions_max: 5, ..Limits::default() };
    let mut cluster = Harness::with_limits(limits);
    cluster.topic("a", 2);
    let many = CreateTopic { partitions: 4, ..create("b") };
    let full = Refusal::Limit { what: "partitions", max: 5 };
    assert_eq!(cluster.apply(many), Outcome::Refused(full));
    cluster.topic("b", 3);
    let full = Refusal::Limit { what: "topics", max: 2 };
    assert_eq!(cluster.apply(create("c")), Outcome::Refused(full));
    let topic = cluster.topic_id("a");
    cluster.apply(DeleteTopic { topic });
    assert!(matches!(cluster.apply(create("c")), Outcome::Partitions(_)));
}

#[cfg(feature = "twins")]
#[test]
fn a_recreated_topic_gets_its_old_ids() {
    use tidemill_base::twins::{Twin, switch_on};
    let mut cluster = Harness::new();
    let _twin = switch_on(Twin::TopicIdReused);
    assert_eq!(cluster.topic("a", 2), [PartitionId(1), PartitionId(2)]);
    let topic = cluster.topic_id("a");
    cluster.apply(DeleteTopic { topic });
    assert_eq!(cluster.topic("a", 2), [PartitionId(1), PartitionId(2)]);
}
