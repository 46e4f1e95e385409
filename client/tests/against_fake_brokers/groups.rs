//! Being a member of a group.

use std::sync::Arc;

use parking_lot::Mutex;
use tidemill_client::{
    AutoOffsetReset, Consumer, ConsumerConfig, ErrorCode, ErrorKind, Offset, Offsets,
    ProducerConfig, RebalanceListener, Record, TopicPartition,
};
use tidemill_kafka::ApiKey;

use crate::cluster::{FakeCluster, Fault};

fn config() -> ConsumerConfig {
    ConsumerConfig {
        auto_offset_reset: AutoOffsetReset::Earliest,
        fetch_wait_ms_max: 10,
        heartbeat_interval_ms: 10,
        ..ConsumerConfig::in_group("g")
    }
}

async fn filled(records: usize) -> FakeCluster {
    let cluster = FakeCluster::start(1).await.topic("t", 2);
    let producer = cluster.client().producer(ProducerConfig::default()).unwrap();
    for value in 0..records {
        let record = Record::to("t").partition(0).value(value.to_string());
        drop(producer.send(record).await.unwrap());
    }
    producer.flush().await.unwrap();
    cluster
}

/// Polls until so many records have come.
async fn read(consumer: &mut Consumer, count: usize) -> Vec<i64> {
    let mut offsets = Vec::new();
    while offsets.len() < count {
        let records = consumer.poll(10_000).await.unwrap();
        assert!(!records.is_empty(), "nothing came after {} records", offsets.len());
        offsets.extend(records.iter().map(|record| record.offset.0));
    }
    offsets
}

fn committed(cluster: &FakeCluster) -> Option<i64> {
    cluster.state.lock().committed.get(&("g".to_owned(), "t".to_owned(), 0)).copied()
}

#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn write(&self, what: &str, partitions: &[TopicPartition]) {
        self.0.lock().push(format!("{what} {}", partitions.len()));
    }
}

impl RebalanceListener for Diary {
    fn assigned(&mut self, partitions: &[TopicPartition]) {
        self.write("assigned", partitions);
    }

    fn revoked(&mut self, partitions: &[TopicPartition], positions: &Offsets) -> Offsets {
        self.write("revoked", partitions);
        positions.clone()
    }

    fn lost(&mut self, partitions: &[TopicPartition]) {
        self.write("lost", partitions);
    }
}

#[tokio::test]
async fn a_member_reads_commits_on_closing_and_leaves_and_the_next_goes_on() {
    let cluster = filled(20).await;
    let mut first =
        cluster.client().consumer(ConsumerConfig { poll_records_max: 5, ..config() }).unwrap();
    first.subscribe(&["t"]).unwrap();
    assert_eq!(read(&mut first, 5).await, [0, 1, 2, 3, 4]);
    assert_eq!(first.assignment().len(), 2);
    first.close().await.unwrap();
    assert_eq!(committed(&cluster), Some(5));
    assert_eq!(cluster.state.lock().group.left, ["member-1"]);

    let mut second = cluster.client().consumer(config()).unwrap();
    second.subscribe(&["t"]).unwrap();
    assert_eq!(read(&mut second, 15).await, (5..20).collect::<Vec<i64>>());
}

#[tokio::test]
async fn a_rebalance_commits_what_the_listener_says_and_goes_on_from_there() {
    let cluster = filled(20).await;
    let manual = ConsumerConfig { auto_commit_interval_ms: None, poll_records_max: 5, ..config() };
    let mut consumer = cluster.client().consumer(manual).unwrap();
    let diary = Diary::default();
    consumer.on_rebalance(diary.clone());
    consumer.subscribe(&["t"]).unwrap();
    let mut offsets = read(&mut consumer, 5).await;
    cluster.spoil(ApiKey::Heartbeat, &[Fault::Code(ErrorCode::REBALANCE_IN_PROGRESS)]);
    while diary.0.lock().len() < 3 {
        let records = consumer.poll(20).await.unwrap();
        offsets.extend(records.iter().map(|record| record.offset.0));
    }
    let left = 20 - offsets.len();
    if left > 0 {
        offsets.extend(read(&mut consumer, left).await);
    }
    assert_eq!(*diary.0.lock(), ["assigned 2", "revoked 2", "assigned 2"]);
    assert_eq!(offsets, (0..20).collect::<Vec<i64>>());
    assert!(committed(&cluster).is_some());
    assert_eq!(cluster.state.lock().group.generation, 2);
}

#[tokio::test]
async fn a_member_that_was_thrown_out_loses_its_partitions_and_joins_anew() {
    let cluster = filled(5).await;
    let mut consumer = cluster.client().consumer(config()).unwrap();
    let diary = Diary::default();
    consumer.on_rebalance(diary.clone());
    consumer.subscribe(&["t"]).unwrap();
    let _ = read(&mut consumer, 5).await;
    cluster.spoil(ApiKey::Heartbeat, &[Fault::Code(ErrorCode::UNKNOWN_MEMBER_ID)]);
    while diary.0.lock().len() < 3 {
        let _ = consumer.poll(20).await.unwrap();
    }
    assert_eq!(*diary.0.lock(), ["assigned 2", "lost 2", "assigned 2"]);
    assert_eq!(cluster.state.lock().group.member_id, "member-2");
}

#[tokio::test]
async fn joining_gets_over_lost_answers_and_coordinators_that_are_not_there() {
    let cluster = filled(5).await;
    cluster.spoil(ApiKey::FindCoordinator, &[Fault::Code(ErrorCode::COORDINATOR_NOT_AVAILABLE)]);
    cluster.spoil(
        ApiKey::JoinGroup,
        &[Fault::Code(ErrorCode::NOT_COORDINATOR), Fault::DropAfter, Fault::Drop],
    );
    cluster.spoil(ApiKey::SyncGroup, &[Fault::Code(ErrorCode::REBALANCE_IN_PROGRESS), Fault::Drop]);
    cluster.spoil(ApiKey::OffsetFetch, &[Fault::Drop]);
    let mut consumer = cluster.client().consumer(config()).unwrap();
    consumer.subscribe(&["t"]).unwrap();
    assert_eq!(read(&mut consumer, 5).await, [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn new_partitions_are_shared_out_by_the_leader() {
    let cluster = filled(1).await;
    let client = crate::cluster::client(tidemill_client::ClientConfig {
        metadata_age_max_ms: 100,
        ..cluster.config()
    });
    let mut consumer = client.consumer(config()).unwrap();
    consumer.subscribe(&["t"]).unwrap();
    let _ = read(&mut consumer, 1).await;
    let added = crate::log::Partition::led_by(1);
    cluster.state.lock().topics.get_mut("t").unwrap().partitions.push(added);
    while consumer.assignment().len() < 3 {
        let _ = consumer.poll(20).await.unwrap();
    }
}

#[tokio::test]
async fn a_refused_member_is_told_and_reads_nothing() {
    let cluster = filled(5).await;
    let denied = Fault::Code(ErrorCode::GROUP_AUTHORIZATION_FAILED);
    cluster.spoil(ApiKey::JoinGroup, &[denied]);
    let mut consumer = cluster.client().consumer(config()).unwrap();
    consumer.subscribe(&["t"]).unwrap();
    let error = consumer.poll(10_000).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(consumer.assignment().is_empty());
}

#[tokio::test]
async fn offsets_are_committed_by_hand_and_refusals_are_told() {
    let cluster = filled(5).await;
    let manual = ConsumerConfig { auto_commit_interval_ms: None, ..config() };
    let mut consumer = cluster.client().consumer(manual).unwrap();
    let zero = TopicPartition::new("t", 0);
    consumer.assign([zero.clone()]).unwrap();
    let _ = read(&mut consumer, 5).await;
    assert!(consumer.committed(std::slice::from_ref(&zero)).await.unwrap().is_empty());
    cluster.spoil(ApiKey::OffsetCommit, &[Fault::DropAfter]);
    consumer.commit().await.unwrap();
    assert_eq!(committed(&cluster), Some(5));
    consumer.commit_offsets(&Offsets::from([(zero.clone(), Offset(2))])).await.unwrap();
    let found = consumer.committed(std::slice::from_ref(&zero)).await.unwrap();
    assert_eq!(found[&zero].offset, Offset(2));
    cluster.spoil(ApiKey::OffsetCommit, &[Fault::Code(ErrorCode::ILLEGAL_GENERATION)]);
    let error = consumer.commit().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);

    let mut without = cluster.client().consumer(ConsumerConfig::default()).unwrap();
    assert_eq!(without.commit().await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(without.subscribe(&["t"]).unwrap_err().kind(), ErrorKind::Invalid);
}
