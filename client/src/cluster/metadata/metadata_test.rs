//! The metadata cache, by exact contents.

use tidemill_kafka::Uuid;
use tidemill_kafka::messages::metadata::MetadataResponseBroker;

use super::*;

fn broker(node_id: i32, port: i32) -> MetadataResponseBroker {
    MetadataResponseBroker { node_id, host: "h".into(), port, rack: None }
}

fn led(partition_index: i32, leader_id: i32, leader_epoch: i32) -> MetadataResponsePartition {
    MetadataResponsePartition {
        partition_index,
        leader_id,
        leader_epoch,
        ..MetadataResponsePartition::default()
    }
}

fn answer(id: u128, partitions: Vec<MetadataResponsePartition>) -> MetadataResponse {
    MetadataResponse {
        brokers: vec![broker(1, 9092), broker(2, 9093)],
        controller_id: 2,
        topics: vec![MetadataResponseTopic {
            name: Some("t".into()),
            topic_id: Uuid::from_u128(id),
            partitions,
            ..MetadataResponseTopic::default()
        }],
        ..MetadataResponse::default()
    }
}

fn leader(metadata: &Metadata, partition: i32) -> Option<i32> {
    metadata.leader(&TopicPartition::new("t", partition)).map(|broker| broker.0)
}

#[test]
fn an_answer_names_brokers_controller_and_leaders() {
    let metadata = Metadata::default().after(&answer(1, vec![led(0, 1, 5), led(1, -1, 5)]));
    assert_eq!(metadata.version, 1);
    assert_eq!(metadata.controller, Some(BrokerId(2)));
    assert_eq!(metadata.brokers[&BrokerId(1)].endpoint.to_string(), "h:9092");
    assert_eq!((leader(&metadata, 0), leader(&metadata, 1)), (Some(1), None));
    assert_eq!(metadata.topic_of_id(TopicId(Uuid::from_u128(1))).unwrap().partition_count(), 2);
}

#[test]
fn a_leader_whose_address_is_not_known_is_no_leader() {
    let metadata = Metadata::default().after(&answer(1, vec![led(0, 7, 0)]));
    assert_eq!(leader(&metadata, 0), None);
}

#[test]
fn a_leader_epoch_never_goes_back_within_one_life_of_a_topic() {
    let metadata = Metadata::default().after(&answer(1, vec![led(0, 2, 6)]));
    let lagging = metadata.after(&answer(1, vec![led(0, 1, 5)]));
    assert_eq!(leader(&lagging, 0), Some(2));
    let same = metadata.after(&answer(1, vec![led(0, 1, 6)]));
    assert_eq!(leader(&same, 0), Some(1));
    let recreated = metadata.after(&answer(2, vec![led(0, 1, 0)]));
    assert_eq!(leader(&recreated, 0), Some(1));
}

#[test]
fn topics_that_were_not_asked_stay() {
    let metadata = Metadata::default().after(&answer(1, vec![led(0, 1, 0)]));
    let mut other = answer(9, vec![]);
    other.topics[0].name = Some("gone".into());
    other.topics[0].error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
    let metadata = metadata.after(&other);
    assert_eq!(leader(&metadata, 0), Some(1));
    assert_eq!(metadata.topics["gone"].error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert!(!metadata.without("gone").topics.contains_key("gone"));
}

#[test]
fn a_hint_moves_the_leader_if_it_is_newer_and_its_address_is_known() {
    let metadata = Metadata::default().after(&answer(1, vec![led(0, 1, 5)]));
    let partition = TopicPartition::new("t", 0);
    let hint = |leader_id, leader_epoch| LeaderIdAndEpoch { leader_id, leader_epoch };
    let moved = metadata.after_hint(&partition, &hint(2, 6), &[]).unwrap();
    assert_eq!((leader(&moved, 0), moved.version), (Some(2), 2));
    assert_eq!(metadata.after_hint(&partition, &hint(2, 5), &[]), None);
    assert_eq!(metadata.after_hint(&partition, &hint(-1, 6), &[]), None);
    assert_eq!(metadata.after_hint(&partition, &hint(3, 6), &[]), None);
    let told = NodeEndpoint { node_id: 3, host: "new".into(), port: 1, rack: None };
    let moved = metadata.after_hint(&partition, &hint(3, 6), &[told]).unwrap();
    assert_eq!(moved.brokers[&BrokerId(3)].endpoint.to_string(), "new:1");
}
