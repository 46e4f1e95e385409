//! Producing while answers are lost, leaders move and batches are refused.

use tidemill_client::{
    Acks, ClientConfig, Codec, Delivery, ErrorCode, ErrorKind, Offset, Producer, ProducerConfig,
    Record, RecordMetadata, Result, TimestampMs,
};
use tidemill_kafka::ApiKey;

use crate::cluster::{FakeCluster, Fault, client};

fn config() -> ProducerConfig {
    ProducerConfig { linger_ms: 1, ..ProducerConfig::default() }
}

/// Sends values 0, 1, 2, ... to a partition.
async fn send(producer: &Producer, partition: i32, count: usize) -> Vec<Delivery> {
    let mut deliveries = Vec::new();
    for value in 0..count {
        let record = Record::to("t").partition(partition).value(value.to_string());
        deliveries.push(producer.send(record).await.unwrap());
    }
    deliveries
}

async fn all(deliveries: Vec<Delivery>) -> Vec<Result<RecordMetadata>> {
    let mut results = Vec::new();
    for delivery in deliveries {
        results.push(delivery.await);
    }
    results
}

fn offsets(results: &[Result<RecordMetadata>]) -> Vec<i64> {
    results.iter().map(|result| result.as_ref().unwrap().offset.unwrap().0).collect()
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|value| value.to_string()).collect()
}

#[tokio::test]
async fn records_are_stored_in_order_and_told_their_offsets() {
    for codec in Codec::ALL {
        let cluster = FakeCluster::start(1).await.topic("t", 1);
        let config = ProducerConfig { codec, batch_bytes_max: 500, ..config() };
        let producer = cluster.client().producer(config).unwrap();
        let results = all(send(&producer, 0, 300).await).await;
        assert_eq!(offsets(&results), (0..300).collect::<Vec<i64>>());
        assert_eq!(cluster.values("t", 0), numbers(300), "{codec}");
    }
}

#[tokio::test]
async fn keys_choose_the_partition_as_java_does_and_topic_ids_are_used() {
    let cluster = FakeCluster::start(2).await.topic("t", 10);
    let producer = cluster.client().producer(config()).unwrap();
    for (key, partition) in [("21", 0), ("abc", 7)] {
        let record = Record::to("t").key(key).value("v").timestamp(TimestampMs(5));
        let metadata = producer.send_and_wait(record).await.unwrap();
        assert_eq!(metadata.partition.partition.0, partition);
        assert_eq!((metadata.offset, metadata.timestamp), (Some(Offset(0)), TimestampMs(5)));
    }
    let state = cluster.state.lock();
    let versions = state.requests.iter().filter(|one| one.1 == ApiKey::Produce);
    assert!(versions.map(|one| one.2).all(|version| version == 13));
}

#[tokio::test]
async fn a_stored_batch_whose_answer_is_lost_is_not_stored_again() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    let producer = cluster.client().producer(config()).unwrap();
    cluster.spoil(ApiKey::Produce, &[Fault::DropAfter, Fault::DropAfter, Fault::Drop]);
    let results = all(send(&producer, 0, 50).await).await;
    assert_eq!(offsets(&results), (0..50).collect::<Vec<i64>>());
    assert_eq!(cluster.values("t", 0), numbers(50));
}

#[tokio::test]
async fn without_idempotence_a_lost_answer_may_store_twice_and_order_holds() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    let config = ProducerConfig { idempotent: false, batch_bytes_max: 200, ..config() };
    let producer = cluster.client().producer(config).unwrap();
    cluster.spoil(ApiKey::Produce, &[Fault::DropAfter]);
    let results = all(send(&producer, 0, 100).await).await;
    assert!(results.iter().all(Result::is_ok));
    let mut stored = cluster.values("t", 0);
    assert!(stored.len() > 100);
    let twice = stored.len() - 100;
    assert_eq!(stored.split_off(twice), numbers(100)[..].to_vec());
    assert_eq!(cluster.asked(ApiKey::InitProducerId), 0);
}

#[tokio::test]
async fn a_leader_that_moved_is_followed_with_a_hint_and_without() {
    for hints in [true, false] {
        let cluster = FakeCluster::start(2).await.topic("t", 1);
        cluster.state.lock().hints = hints;
        let producer = cluster.client().producer(config()).unwrap();
        let first = all(send(&producer, 0, 10).await).await;
        cluster.move_leader("t", 0, 2);
        let second = all(send(&producer, 0, 10).await).await;
        assert_eq!(offsets(&first), (0..10).collect::<Vec<i64>>());
        assert_eq!(offsets(&second), (10..20).collect::<Vec<i64>>());
        let last =
            cluster.state.lock().requests.iter().rfind(|one| one.1 == ApiKey::Produce).unwrap().0;
        assert_eq!(last, 2);
    }
}

#[tokio::test]
async fn whatever_goes_wrong_each_record_is_stored_once_and_in_order() {
    const PARTITIONS: usize = 4;
    let faults = [
        Fault::DropAfter,
        Fault::Code(ErrorCode::NOT_ENOUGH_REPLICAS),
        Fault::Drop,
        Fault::Code(ErrorCode::REQUEST_TIMED_OUT),
        Fault::DropAfter,
        Fault::Code(ErrorCode::NOT_LEADER_OR_FOLLOWER),
        Fault::Oversized,
    ];
    for round in 0..8 {
        let cluster = FakeCluster::start(2).await.topic("t", PARTITIONS as i32);
        let mut turned = faults.to_vec();
        turned.rotate_left(round % faults.len());
        cluster.spoil(ApiKey::Produce, &turned.repeat(3));
        cluster.spoil(ApiKey::Metadata, &[Fault::Drop]);
        cluster.spoil(ApiKey::InitProducerId, &[Fault::Drop, Fault::DropAfter]);
        let config = ProducerConfig { batch_bytes_max: 150, ..config() };
        let producer = cluster.client().producer(config).unwrap();
        let mut deliveries = Vec::new();
        for value in 0..200 {
            for partition in 0..PARTITIONS {
                let partition = partition as i32;
                let record = Record::to("t").partition(partition).value(value.to_string());
                deliveries.push(producer.send(record).await.unwrap());
            }
            if value % 40 == 0 {
                cluster.move_leader("t", value % PARTITIONS, 1 + value as i32 / 40 % 2);
                tokio::task::yield_now().await;
            }
        }
        producer.flush().await.unwrap();
        for delivery in deliveries {
            delivery.await.unwrap();
        }
        for partition in 0..PARTITIONS {
            assert_eq!(cluster.values("t", partition), numbers(200), "round {round}");
        }
    }
}

#[tokio::test]
async fn a_refused_batch_fails_alone() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    let config = ProducerConfig { batch_bytes_max: 100, linger_ms: 0, ..config() };
    let producer = cluster.client().producer(config).unwrap();
    producer.send_and_wait(Record::to("t").partition(0).value("first")).await.unwrap();
    cluster.spoil(ApiKey::Produce, &[Fault::Code(ErrorCode::MESSAGE_TOO_LARGE)]);
    let results = all(send(&producer, 0, 30).await).await;
    let failed: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(!failed.is_empty() && failed.len() < 30);
    assert!(failed.iter().all(|error| error.kind() == ErrorKind::Invalid));
    let mut expected = vec!["first".to_owned()];
    expected.extend(numbers(30).split_off(failed.len()));
    assert_eq!(cluster.values("t", 0), expected);
}

#[tokio::test]
async fn without_acks_records_are_delivered_when_written_and_have_no_offset() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    let config = ProducerConfig { acks: Acks::None, idempotent: false, ..config() };
    let producer = cluster.client().producer(config).unwrap();
    let metadata = producer.send_and_wait(Record::to("t").partition(0).value("v")).await.unwrap();
    assert_eq!(metadata.offset, None);
}

#[tokio::test]
async fn what_cannot_be_delivered_in_time_fails_and_says_whether_it_may_be_stored() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    let client = client(ClientConfig { request_timeout_ms: 100, ..cluster.config() });
    let config = ProducerConfig { delivery_timeout_ms: 150, ..config() };
    let producer = client.producer(config.clone()).unwrap();
    cluster.spoil(ApiKey::Produce, &[Fault::Silent; 4]);
    let lost = producer.send_and_wait(Record::to("t").partition(0).value("v")).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::Ambiguous, "{lost}");

    let producer = client.producer(config).unwrap();
    let refused = [Fault::Code(ErrorCode::NOT_ENOUGH_REPLICAS); 500];
    cluster.state.lock().faults.clear();
    cluster.spoil(ApiKey::Produce, &refused);
    let kept = producer.send_and_wait(Record::to("t").partition(0).value("v")).await.unwrap_err();
    assert_eq!(kept.kind(), ErrorKind::Retry, "{kept}");
    assert!(kept.to_string().contains("NOT_ENOUGH_REPLICAS"), "{kept}");
}

#[tokio::test]
async fn a_full_buffer_throttles_and_gives_its_room_back() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    cluster.move_leader("t", 0, -1);
    let config = ProducerConfig {
        buffer_bytes_max: 2_000,
        request_bytes_max: 1_500,
        batch_bytes_max: 1_500,
        send_block_ms_max: 50,
        ..config()
    };
    let producer = cluster.client().producer(config).unwrap();
    let record = || Record::to("t").partition(0).value(vec![b'v'; 1_200]);
    let first = producer.send(record()).await.unwrap();
    let error = producer.send(record()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Throttled);
    cluster.move_leader("t", 0, 1);
    first.await.unwrap();
    producer.send_and_wait(record()).await.unwrap();
    let too_large = Record::to("t").value(vec![b'v'; 1_600]);
    assert_eq!(producer.send(too_large).await.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn topics_and_partitions_that_do_not_exist_are_not_found() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    let config = ProducerConfig { send_block_ms_max: 50, ..config() };
    let producer = cluster.client().producer(config).unwrap();
    for record in [Record::to("nowhere"), Record::to("t").partition(1)] {
        let error = producer.send(record).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
}

#[tokio::test]
async fn closing_delivers_what_waits_and_dropping_gives_it_up() {
    let cluster = FakeCluster::start(1).await.topic("t", 1);
    let config = ProducerConfig { linger_ms: 60_000, ..config() };
    let producer = cluster.client().producer(config.clone()).unwrap();
    let deliveries = send(&producer, 0, 10).await;
    producer.close(10_000).await.unwrap();
    assert_eq!(offsets(&all(deliveries).await), (0..10).collect::<Vec<i64>>());

    let producer = cluster.client().producer(config).unwrap();
    let deliveries = send(&producer, 0, 10).await;
    drop(producer);
    for result in all(deliveries).await {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Closed);
    }
}
