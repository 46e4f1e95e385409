//! Positions, fetches and answers, by exact contents.

use std::collections::VecDeque;

use bytes::Bytes;
use tidemill_base::TimestampMs;
use tidemill_kafka::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use tidemill_records::{BatchBuilder, Codec, Compressor};

use super::*;

const BACKOFF: Backoff = Backoff { initial_ms: 100, max_ms: 100 };

/// Partitions 0 and 1 on broker 1, 2 on broker 2, 3 without a leader.
fn metadata() -> Metadata {
    let led = |partition_index, leader_id| MetadataResponsePartition {
        partition_index,
        leader_id,
        leader_epoch: 4,
        ..MetadataResponsePartition::default()
    };
    let broker =
        |node_id| MetadataResponseBroker { node_id, host: "h".into(), port: 1, rack: None };
    Metadata::default().after(&MetadataResponse {
        brokers: vec![broker(1), broker(2)],
        topics: vec![MetadataResponseTopic {
            name: Some("t".into()),
            partitions: vec![led(0, 1), led(1, 1), led(2, 2), led(3, -1)],
            ..MetadataResponseTopic::default()
        }],
        ..MetadataResponse::default()
    })
}

fn t(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

/// Reads these partitions, each from offset 10.
fn reading(partitions: &[i32]) -> Assignment {
    let mut assignment = Assignment::default();
    assignment.set(partitions.iter().copied().map(t), Place::At(Offset(10)));
    assignment
}

fn plan(assignment: &mut Assignment, busy: &[i32]) -> Vec<(i32, Vec<(i32, i64)>)> {
    let busy = busy.iter().copied().map(BrokerId).collect();
    let fetches = assignment.plan_fetches(0, &metadata(), &busy, 1_000);
    let part = |part: &FetchPart| (part.partition.partition.0, part.offset.0);
    fetches.iter().map(|(broker, parts)| (broker.0, parts.iter().map(part).collect())).collect()
}

fn batch(base_offset: i64, count: usize, value_bytes: usize) -> Bytes {
    let mut builder = BatchBuilder::new(Codec::None).placed_at(Offset(base_offset), 0);
    for _ in 0..count {
        builder.append_value(TimestampMs(1), None, Some(&vec![b'v'; value_bytes])).unwrap();
    }
    builder.finish(&mut Compressor::new()).unwrap()
}

fn answer(error_code: ErrorCode, bytes: Bytes) -> PartAnswer {
    let fetched = Fetched { bytes, aborted: VecDeque::new() };
    PartAnswer { error_code, high_watermark: Some(Offset(99)), fetched }
}

fn part(assignment: &Assignment, partition: i32, offset: i64) -> FetchPart {
    FetchPart {
        partition: t(partition),
        stamp: assignment.stamp_of(&t(partition)).unwrap(),
        offset: Offset(offset),
        leader_epoch: 4,
    }
}

fn answered(assignment: &mut Assignment, part: &FetchPart, answer: PartAnswer) -> FetchVerdict {
    let reset = AutoOffsetReset::Earliest;
    assignment.fetch_answered(part, answer, reset, 0, BACKOFF, &mut Prng::new(1))
}

fn take(assignment: &mut Assignment, count: usize) -> Vec<(i32, i64)> {
    let taken = assignment.take(count, true, &mut Decompressor::new()).unwrap();
    let place = |record: &ConsumerRecord| (record.partition.partition.0, record.offset.0);
    taken.iter().map(place).collect()
}

#[test]
fn all_partitions_of_a_broker_are_fetched_together_and_one_fetch_at_a_time() {
    let mut assignment = reading(&[0, 1, 2, 3]);
    assert_eq!(plan(&mut assignment, &[]), [(1, vec![(0, 10), (1, 10)]), (2, vec![(2, 10)])]);
    assert_eq!(plan(&mut assignment, &[1, 2]), []);
    assert!(assignment.has_leaderless(&metadata()));
}

#[test]
fn fetching_goes_on_behind_what_waits_until_much_waits() {
    let mut assignment = reading(&[0, 1]);
    let _ = plan(&mut assignment, &[]);
    let (zero, one) = (part(&assignment, 0, 10), part(&assignment, 1, 10));
    let _ = answered(&mut assignment, &zero, answer(ErrorCode::NONE, batch(10, 5, 10)));
    let _ = answered(&mut assignment, &one, answer(ErrorCode::NONE, Bytes::new()));
    assert_eq!(plan(&mut assignment, &[]), [(1, vec![(0, 15), (1, 10)])]);
    let zero = part(&assignment, 0, 15);
    let _ = answered(&mut assignment, &zero, answer(ErrorCode::NONE, batch(15, 1, 2_000)));
    let _ = answered(&mut assignment, &one, answer(ErrorCode::NONE, Bytes::new()));
    assert_eq!(plan(&mut assignment, &[]), [], "partition 0 has more than 1,000 bytes waiting");
    assert_eq!(take(&mut assignment, 100).len(), 6);
    assert_eq!(plan(&mut assignment, &[]), [(1, vec![(0, 16), (1, 10)])]);
    assert_eq!(assignment.high_watermark(&t(0)), Some(Offset(99)));
}

#[test]
fn records_are_taken_partition_after_partition_in_turn() {
    let mut assignment = reading(&[0, 1]);
    let _ = plan(&mut assignment, &[]);
    for index in [0, 1] {
        let part = part(&assignment, index, 10);
        let _ = answered(&mut assignment, &part, answer(ErrorCode::NONE, batch(10, 3, 1)));
    }
    assert_eq!(take(&mut assignment, 2), [(0, 10), (0, 11)]);
    assert_eq!(take(&mut assignment, 4), [(1, 10), (1, 11), (1, 12), (0, 12)]);
    assert_eq!(take(&mut assignment, 4), []);
    let positions: Vec<i64> = assignment.positions().values().map(|offset| offset.0).collect();
    assert_eq!(positions, [13, 13]);
}

#[test]
fn a_seek_throws_away_what_waits_and_what_is_on_its_way() {
    let mut assignment = reading(&[0]);
    let _ = plan(&mut assignment, &[]);
    let old = part(&assignment, 0, 10);
    assignment.seek(&t(0), Place::At(Offset(3))).unwrap();
    let _ = answered(&mut assignment, &old, answer(ErrorCode::NONE, batch(10, 3, 1)));
    assert_eq!(take(&mut assignment, 9), []);
    assert_eq!(plan(&mut assignment, &[]), [(1, vec![(0, 3)])]);
    assert_eq!(assignment.seek(&t(9), Place::Committed).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_batch_that_cannot_be_read_is_fetched_again_and_not_passed_by_what_is_on_its_way() {
    let mut assignment = reading(&[0]);
    let _ = plan(&mut assignment, &[]);
    let mut damaged = batch(10, 1, 10).to_vec();
    damaged[70] ^= 1;
    let first = part(&assignment, 0, 10);
    let _ = answered(&mut assignment, &first, answer(ErrorCode::NONE, damaged.into()));
    assert_eq!(plan(&mut assignment, &[]), [(1, vec![(0, 11)])]);
    let second = part(&assignment, 0, 11);
    assert!(assignment.take(9, true, &mut Decompressor::new()).is_err());
    let _ = answered(&mut assignment, &second, answer(ErrorCode::NONE, batch(11, 1, 10)));
    assert_eq!(take(&mut assignment, 9), []);
    assert_eq!(assignment.position(&t(0)), Some(Offset(10)));
    assert_eq!(plan(&mut assignment, &[]), [(1, vec![(0, 10)])]);
}

#[test]
fn paused_partitions_are_neither_fetched_nor_taken_from() {
    let mut assignment = reading(&[0]);
    let _ = plan(&mut assignment, &[]);
    let zero = part(&assignment, 0, 10);
    let _ = answered(&mut assignment, &zero, answer(ErrorCode::NONE, batch(10, 1, 1)));
    assignment.pause(&t(0), true).unwrap();
    assert_eq!((take(&mut assignment, 9), plan(&mut assignment, &[])), (vec![], vec![]));
    assignment.pause(&t(0), false).unwrap();
    assert_eq!(take(&mut assignment, 9), [(0, 10)]);
}

#[test]
fn partitions_that_stay_assigned_go_on_where_they_are() {
    let mut assignment = reading(&[0, 1]);
    assignment.set([t(1), t(2)], Place::Committed);
    assert_eq!(assignment.position(&t(1)), Some(Offset(10)));
    let stamp = assignment.stamp_of(&t(2)).unwrap();
    assert_eq!(assignment.wanting_committed(), [(t(2), stamp)]);
    assert_eq!(assignment.position(&t(0)), None);
}

#[test]
fn an_offset_that_is_gone_is_found_anew_or_told() {
    let mut assignment = reading(&[0]);
    let zero = part(&assignment, 0, 10);
    let gone = answer(ErrorCode::OFFSET_OUT_OF_RANGE, Bytes::new());
    let (reset, prng) = (AutoOffsetReset::None, &mut Prng::new(1));
    let told = assignment.fetch_answered(&zero, gone.clone(), reset, 0, BACKOFF, prng);
    assert!(matches!(told, FetchVerdict::Tell(error) if error.kind() == ErrorKind::NotFound));
    assert_eq!(answered(&mut assignment, &zero, gone), FetchVerdict::Fine);
    let stamp = zero.stamp;
    let wanting = assignment.wanting_offset();
    assert_eq!(wanting, BTreeMap::from([(t(0), (OffsetSpec::Earliest, stamp))]));
    assignment.found(&t(0), stamp, Place::At(Offset(40)));
    assert_eq!(plan(&mut assignment, &[]), [(1, vec![(0, 40)])]);
}

#[test]
fn a_moved_leader_puts_the_metadata_in_doubt_and_waits() {
    let mut assignment = reading(&[0]);
    let _ = plan(&mut assignment, &[]);
    let zero = part(&assignment, 0, 10);
    let moved = answer(ErrorCode::NOT_LEADER_OR_FOLLOWER, Bytes::new());
    assert_eq!(answered(&mut assignment, &zero, moved), FetchVerdict::Doubt);
    assert_eq!(plan(&mut assignment, &[]), []);
    let wake_at_ms = assignment.wake_at_ms(0).unwrap();
    assert!((80..=120).contains(&wake_at_ms));
    let denied = answer(ErrorCode::TOPIC_AUTHORIZATION_FAILED, Bytes::new());
    let told = answered(&mut assignment, &zero, denied);
    assert!(matches!(told, FetchVerdict::Tell(error) if error.kind() == ErrorKind::Denied));
}

#[test]
fn a_partition_that_cannot_be_read_is_in_trouble_until_it_can() {
    let mut assignment = reading(&[0, 1]);
    let _ = plan(&mut assignment, &[]);
    let (zero, one) = (part(&assignment, 0, 10), part(&assignment, 1, 10));
    let reset = AutoOffsetReset::Earliest;
    let lost = answer(ErrorCode::KAFKA_STORAGE_ERROR, Bytes::new());
    for now_ms in [5, 20] {
        let prng = &mut Prng::new(1);
        let _ = assignment.fetch_answered(&zero, lost.clone(), reset, now_ms, BACKOFF, prng);
    }
    let _ = answered(&mut assignment, &one, answer(ErrorCode::NONE, Bytes::new()));
    let troubles = assignment.troubles(105);
    assert_eq!(troubles.len(), 1);
    assert_eq!((&troubles[0].partition, troubles[0].lasts_ms), (&t(0), 100));
    assert_eq!(troubles[0].error.code(), Some(ErrorCode::KAFKA_STORAGE_ERROR));
    let _ = answered(&mut assignment, &zero, answer(ErrorCode::NONE, Bytes::new()));
    assert_eq!(assignment.troubles(200), []);
}
