//! Consuming by hand while connections break and leaders move.

use std::time::Duration;

use tidemill_client::{
    AutoOffsetReset, Consumer, ConsumerConfig, ConsumerRecord, ErrorCode, ErrorKind, Offset,
    OffsetSpec, ProducerConfig, Record, TopicPartition,
};
use tidemill_kafka::ApiKey;

use crate::cluster::{FakeCluster, Fault};

const POLL_MS: u64 = 10_000;

fn config() -> ConsumerConfig {
    ConsumerConfig {
        auto_offset_reset: AutoOffsetReset::Earliest,
        fetch_wait_ms_max: 10,
        ..ConsumerConfig::default()
    }
}

fn t(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

/// A topic of two partitions with so many records each, in small batches.
async fn filled(records: usize) -> FakeCluster {
    let cluster = FakeCluster::start(2).await.topic("t", 2);
    let config = ProducerConfig { batch_bytes_max: 300, ..ProducerConfig::default() };
    let producer = cluster.client().producer(config).unwrap();
    for value in 0..records {
        for partition in 0..2 {
            let record = Record::to("t")
                .partition(partition)
                .key(format!("k{value}"))
                .value(value.to_string())
                .header("h", "1");
            drop(producer.send(record).await.unwrap());
        }
    }
    producer.flush().await.unwrap();
    cluster
}

async fn read(consumer: &mut Consumer, count: usize) -> Vec<ConsumerRecord> {
    let mut records = Vec::new();
    while records.len() < count {
        let polled = consumer.poll(POLL_MS).await.unwrap();
        assert!(!polled.is_empty(), "nothing came after {} records", records.len());
        records.extend(polled);
    }
    records
}

/// The values of a partition, which must be those of its offsets.
fn check(records: &[ConsumerRecord], partition: i32, offsets: std::ops::Range<i64>) {
    let of_partition = records.iter().filter(|record| record.partition == t(partition));
    let found: Vec<(i64, &[u8])> = of_partition
        .map(|record| (record.offset.0, record.value.as_deref().unwrap_or_default()))
        .collect();
    let values: Vec<String> = offsets.clone().map(|offset| offset.to_string()).collect();
    let expected: Vec<(i64, &[u8])> =
        offsets.zip(&values).map(|(offset, value)| (offset, value.as_bytes())).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn all_records_of_all_partitions_come_once_and_in_order() {
    let cluster = filled(700).await;
    let mut consumer = cluster.client().consumer(config()).unwrap();
    let partitions = consumer.partitions("t").await.unwrap();
    consumer.assign(partitions).unwrap();
    let records = read(&mut consumer, 1_400).await;
    check(&records, 0, 0..700);
    check(&records, 1, 0..700);
    assert_eq!(records[0].key.as_deref(), Some(&b"k0"[..]));
    assert_eq!(records[0].headers, [tidemill_client::Header::new("h", "1")]);
    assert_eq!(consumer.position(&t(1)), Some(Offset(700)));
    assert_eq!(consumer.high_watermark(&t(1)), Some(Offset(700)));
    assert!(consumer.poll(20).await.unwrap().is_empty());
}

#[tokio::test]
async fn whatever_goes_wrong_no_record_is_missing_or_comes_twice() {
    let cluster = filled(300).await;
    let faults = [
        Fault::Drop,
        Fault::DropAfter,
        Fault::Code(ErrorCode::NOT_LEADER_OR_FOLLOWER),
        Fault::Oversized,
        Fault::Code(ErrorCode::UNKNOWN_LEADER_EPOCH),
        Fault::Garbage,
    ];
    let mut consumer = cluster.client().consumer(config()).unwrap();
    consumer.assign([t(0), t(1)]).unwrap();
    let mut records = Vec::new();
    cluster.spoil(ApiKey::ListOffsets, &faults[..2]);
    while records.len() < 600 {
        cluster.spoil(ApiKey::Fetch, &faults);
        cluster.move_leader("t", 0, 1 + records.len() as i32 % 2);
        records.extend(read(&mut consumer, 1).await);
        cluster.state.lock().faults.clear();
    }
    check(&records, 0, 0..300);
    check(&records, 1, 0..300);
}

#[tokio::test]
async fn new_partitions_are_read_while_others_have_records() {
    let cluster = filled(2_000).await;
    let slow = ConsumerConfig { poll_records_max: 1, ..config() };
    let mut consumer = cluster.client().consumer(slow).unwrap();
    consumer.assign([t(0)]).unwrap();
    let mut last = read(&mut consumer, 1).await[0].clone();
    consumer.assign([t(0), t(1)]).unwrap();
    while last.partition == t(0) {
        // An application that works on each record.
        tokio::time::sleep(Duration::from_millis(1)).await;
        last = read(&mut consumer, 1).await[0].clone();
    }
    assert!(consumer.position(&t(0)) < Some(Offset(2_000)));
}

#[tokio::test]
async fn a_poll_that_is_cancelled_loses_nothing() {
    let cluster = filled(300).await;
    let mut consumer = cluster.client().consumer(config()).unwrap();
    consumer.assign([t(0), t(1)]).unwrap();
    let mut records = Vec::new();
    while records.len() < 600 {
        tokio::select! {
            biased;
            polled = consumer.poll(POLL_MS) => records.extend(polled.unwrap()),
            () = tokio::task::yield_now() => {}
        }
    }
    check(&records, 0, 0..300);
    check(&records, 1, 0..300);
}

#[tokio::test]
async fn an_error_of_one_partition_does_not_lose_records_of_another() {
    let cluster = filled(100).await;
    let few = ConsumerConfig { poll_records_max: 3, ..config() };
    let mut consumer = cluster.client().consumer(few).unwrap();
    consumer.assign([t(0), t(1)]).unwrap();
    let mut records = Vec::new();
    let mut told = 0;
    while records.len() < 200 {
        if records.len() < 150 {
            let denied = Fault::Code(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
            cluster.spoil(ApiKey::Fetch, &[denied]);
        }
        match consumer.poll(POLL_MS).await {
            Ok(polled) => records.extend(polled),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Denied);
                told += 1;
            }
        }
    }
    assert!(told > 0);
    check(&records, 0, 0..100);
    check(&records, 1, 0..100);
}

#[tokio::test]
async fn seeking_pausing_and_resuming() {
    let cluster = filled(20).await;
    let mut consumer = cluster.client().consumer(config()).unwrap();
    consumer.assign_at([t(0)], OffsetSpec::Latest).unwrap();
    assert!(consumer.poll(20).await.unwrap().is_empty());
    consumer.seek(&t(0), Offset(15)).unwrap();
    check(&read(&mut consumer, 5).await, 0, 15..20);
    consumer.seek_to(&t(0), OffsetSpec::Earliest).unwrap();
    consumer.pause(&[t(0)]).unwrap();
    assert!(consumer.poll(20).await.unwrap().is_empty());
    consumer.resume(&[t(0)]).unwrap();
    check(&read(&mut consumer, 20).await, 0, 0..20);
    assert_eq!(consumer.seek(&t(1), Offset(0)).unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn an_offset_that_is_gone_is_told_or_found_anew() {
    let cluster = filled(20).await;
    {
        let mut state = cluster.state.lock();
        let partition = &mut state.topics.get_mut("t").unwrap().partitions[0];
        let keep = partition.batches.len() / 2;
        partition.batches.drain(..keep);
        partition.start = partition.batches[0].0;
    }
    let start = cluster.state.lock().topics["t"].partitions[0].start;
    let strict = ConsumerConfig { auto_offset_reset: AutoOffsetReset::None, ..config() };
    let mut consumer = cluster.client().consumer(strict).unwrap();
    assert_eq!(consumer.assign([t(0)]).unwrap_err().kind(), ErrorKind::Invalid);
    consumer.assign_at([t(0)], OffsetSpec::Earliest).unwrap();
    consumer.seek(&t(0), Offset(0)).unwrap();
    let error = consumer.poll(POLL_MS).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("t-0 at offset 0"), "{error}");

    let mut consumer = cluster.client().consumer(config()).unwrap();
    consumer.assign([t(0)]).unwrap();
    consumer.seek(&t(0), Offset(0)).unwrap();
    check(&read(&mut consumer, (20 - start) as usize).await, 0, start..20);
}

#[tokio::test]
async fn a_damaged_batch_is_told_and_can_be_passed() {
    let cluster = filled(60).await;
    let damaged = {
        let mut state = cluster.state.lock();
        let partition = &mut state.topics.get_mut("t").unwrap().partitions[0];
        let (base_offset, bytes) = &mut partition.batches[1];
        let mut copy = bytes.to_vec();
        *copy.last_mut().unwrap() ^= 0x55;
        *bytes = copy.into();
        *base_offset
    };
    let mut consumer = cluster.client().consumer(config()).unwrap();
    consumer.assign([t(0)]).unwrap();
    check(&read(&mut consumer, damaged as usize).await, 0, 0..damaged);
    let error = consumer.poll(POLL_MS).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains(&format!("t-0 at offset {damaged}")), "{error}");
    let next = cluster.state.lock().topics["t"].partitions[0].batches[2].0;
    consumer.seek(&t(0), Offset(next)).unwrap();
    check(&read(&mut consumer, (60 - next) as usize).await, 0, next..60);
}

#[tokio::test]
async fn a_topic_that_does_not_exist_is_not_found() {
    let cluster = FakeCluster::start(1).await;
    let consumer = cluster.client().consumer(config()).unwrap();
    assert_eq!(consumer.partitions("t").await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn what_keeps_a_partition_from_being_read_is_told_when_asked() {
    let cluster = filled(5).await;
    let mut consumer = cluster.client().consumer(config()).unwrap();
    consumer.assign([t(0)]).unwrap();
    check(&read(&mut consumer, 5).await, 0, 0..5);
    assert_eq!(consumer.troubles(), []);
    consumer.seek(&t(0), Offset(0)).unwrap();
    cluster.spoil(ApiKey::Fetch, &vec![Fault::Code(ErrorCode::KAFKA_STORAGE_ERROR); 1_000]);
    while consumer.troubles().is_empty() {
        assert!(consumer.poll(20).await.unwrap().is_empty());
    }
    let trouble = &consumer.troubles()[0];
    assert_eq!(trouble.error.code(), Some(ErrorCode::KAFKA_STORAGE_ERROR));
    assert!(trouble.error.to_string().contains("t-0 at offset 0"), "{}", trouble.error);
    cluster.state.lock().faults.clear();
    check(&read(&mut consumer, 5).await, 0, 0..5);
    assert_eq!(consumer.troubles(), []);
}
