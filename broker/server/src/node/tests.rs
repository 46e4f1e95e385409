//! A node over disks in memory, spoken to in Kafka frames without a socket.

use std::net::Ipv4Addr;

use bytes::{Buf, Bytes};
use tidemill_appendfile::twin::MemoryDisk;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{Clock, Spawn, TimestampMs};
use tidemill_kafka::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use tidemill_kafka::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use tidemill_kafka::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic,
};
use tidemill_kafka::messages::metadata::MetadataRequest;
use tidemill_kafka::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData,
};
use tidemill_kafka::{ErrorCode, Parts, Request, decode_response, encode_request};
use tidemill_metadata_raft::MemoryStore;
use tidemill_records::{BatchBuilder, Codec, Compressor, batches};
use tidemill_storage_store::{DiskObjects, FileLogConfig, FileLogStore};

use super::*;
use crate::service::{Dispatched, Service, ServiceConnection};

mod bounds;
mod configs;
mod fetch_sessions;
mod folding;
mod groups;
mod lending;
mod orphans;
mod time_search;

/// Keeps the tasks of one life, so that they can be killed together.
#[derive(Default)]
struct TestSpawn(Mutex<Vec<tokio::task::AbortHandle>>);

#[expect(clippy::disallowed_methods, reason = "this is the test's adapter of the port")]
impl Spawn for TestSpawn {
    fn task(&self, _: &'static str, task: BoxFuture<'static, ()>) {
        self.0.lock().push(tokio::spawn(task).abort_handle());
    }

    fn dedicated(&self, name: &'static str, task: BoxFuture<'static, ()>) {
        self.task(name, task);
    }
}

impl TestSpawn {
    async fn kill(&self) {
        self.0.lock().iter().for_each(tokio::task::AbortHandle::abort);
        while self.0.lock().iter().any(|task| !task.is_finished()) {
            tokio::task::yield_now().await;
        }
    }
}

/// A wall clock that goes with the test's monotonic one.
struct TestClock(tokio::time::Instant);

impl Clock for TestClock {
    fn now(&self) -> TimestampMs {
        let elapsed_ms = i64::try_from(self.0.elapsed().as_millis()).unwrap();
        TimestampMs(1_700_000_000_000 + elapsed_ms)
    }
}

/// The disks of a node, which outlive it.
#[derive(Clone)]
struct Disks {
    disk: MemoryDisk,
    store: MemoryStore,
}

struct Client {
    spawn: Arc<TestSpawn>,
    node: Node,
    connection: Box<dyn ServiceConnection>,
}

impl Client {
    async fn start(disks: &Disks) -> Self {
        let tasks = Arc::new(TestSpawn::default());
        let spawn: SharedSpawn = Arc::clone(&tasks) as SharedSpawn;
        let disk: tidemill_appendfile::SharedDisk = Arc::new(disks.disk.clone());
        let log_store =
            FileLogStore::open(Arc::clone(&disk), Arc::clone(&spawn), FileLogConfig::default());
        let objects = DiskObjects::open(Arc::clone(&disk), Arc::clone(&spawn)).await.unwrap();
        let ports = NodePorts {
            objects: Arc::new(objects),
            space: None,
            wrap_commits: None,
            log_store: Arc::new(log_store.await.unwrap()),
            meta_disk: disk,
            state_store: Arc::new(disks.store.clone()),
            clock: Arc::new(TestClock(tokio::time::Instant::now())),
            spawn,
            seed: 7,
        };
        let config = NodeConfig { kafka_address: None, lent_bytes_min: 1, ..NodeConfig::default() };
        let node = Node::start(config, ports).await.unwrap();
        let connection = node.service().connect((Ipv4Addr::LOCALHOST, 1).into());
        Self { spawn: tasks, node, connection }
    }

    async fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        let mut frame = encode_request(1, None, request, version).unwrap().to_bytes();
        frame.advance(4);
        let mut dispatched = self.connection.dispatch(frame);
        if let Dispatched::Pending(later) = dispatched {
            dispatched = later.await;
        }
        let mut answer = match dispatched {
            Dispatched::Ready(parts) => parts.to_bytes(),
            Dispatched::Later(parts) => parts.await.to_bytes(),
            Dispatched::Silent(_) | Dispatched::Pending(_) => panic!("no answer"),
            Dispatched::Close(reason) => panic!("closed: {reason}"),
        };
        answer.advance(4);
        decode_response::<R::Response>(answer, version).unwrap().1
    }

    async fn create(&mut self, name: &str, partitions: i32) -> ErrorCode {
        let topic = CreatableTopic {
            name: name.into(),
            num_partitions: partitions,
            replication_factor: 1,
            ..CreatableTopic::default()
        };
        let request = CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() };
        self.call(&request, 7).await.topics[0].error_code
    }

    async fn produce(&mut self, topic: &str, records: Bytes) -> PartitionProduceResponse {
        let request = ProduceRequest {
            acks: -1,
            timeout_ms: 5000,
            topic_data: vec![TopicProduceData {
                name: topic.into(),
                partition_data: vec![PartitionProduceData { index: 0, records: Some(records) }],
                ..TopicProduceData::default()
            }],
            ..ProduceRequest::default()
        };
        let mut response = self.call(&request, 9).await;
        response.responses.remove(0).partition_responses.remove(0)
    }

    async fn fetch(&mut self, topic: &str, offset: i64, max_wait_ms: i32) -> (Bytes, i64) {
        self.fetch_up_to(topic, offset, max_wait_ms, 1 << 20).await
    }

    async fn fetch_up_to(
        &mut self,
        topic: &str,
        offset: i64,
        max_wait_ms: i32,
        partition_max_bytes: i32,
    ) -> (Bytes, i64) {
        let request = fetch_request(topic, offset, max_wait_ms, partition_max_bytes);
        let mut response = self.call(&request, 12).await;
        let partition = response.responses.remove(0).partitions.remove(0);
        assert_eq!(partition.error_code, ErrorCode::NONE);
        (partition.records.unwrap_or_default().to_bytes(), partition.high_watermark)
    }

    /// The frame that answers a fetch, not yet taken by anyone.
    async fn answer_to_fetch(&mut self, topic: &str, offset: i64) -> Parts {
        let request = fetch_request(topic, offset, 0, 1 << 20);
        let mut frame = encode_request(1, None, &request, 12).unwrap().to_bytes();
        frame.advance(4);
        match self.connection.dispatch(frame) {
            Dispatched::Later(parts) => parts.await,
            _ => panic!("a fetch is answered later"),
        }
    }

    async fn offset_at(&mut self, topic: &str, timestamp: i64) -> (i64, i64) {
        let request = ListOffsetsRequest {
            topics: vec![ListOffsetsTopic {
                name: topic.into(),
                partitions: vec![ListOffsetsPartition {
                    timestamp,
                    ..ListOffsetsPartition::default()
                }],
            }],
            ..ListOffsetsRequest::default()
        };
        let response = self.call(&request, 7).await;
        let partition = &response.topics[0].partitions[0];
        assert_eq!(partition.error_code, ErrorCode::NONE);
        (partition.offset, partition.timestamp)
    }
}

fn fetch_request(
    topic: &str,
    offset: i64,
    max_wait_ms: i32,
    partition_max_bytes: i32,
) -> FetchRequest {
    FetchRequest {
        max_wait_ms,
        min_bytes: 1,
        max_bytes: 1 << 20,
        topics: vec![FetchTopic {
            topic: topic.into(),
            partitions: vec![FetchPartition {
                fetch_offset: offset,
                partition_max_bytes,
                ..FetchPartition::default()
            }],
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }
}

fn records(timestamps: &[i64]) -> Bytes {
    let mut builder = BatchBuilder::new(Codec::Lz4);
    for timestamp in timestamps {
        builder.append_value(TimestampMs(*timestamp), None, Some(b"value")).unwrap();
    }
    builder.finish(&mut Compressor::default()).unwrap()
}

fn disks() -> Disks {
    Disks { disk: MemoryDisk::new(), store: MemoryStore::default() }
}

#[tokio::test(start_paused = true)]
async fn what_was_produced_is_fetched_with_its_offsets() {
    let mut client = Client::start(&disks()).await;
    assert_eq!(client.create("t", 1).await, ErrorCode::NONE);
    assert_eq!(client.create("t", 1).await, ErrorCode::TOPIC_ALREADY_EXISTS);
    assert_eq!(client.produce("t", records(&[10, 30, 20])).await.base_offset, 0);
    assert_eq!(client.produce("t", records(&[5, 40])).await.base_offset, 3);
    let (bytes, high_watermark) = client.fetch("t", 1, 0).await;
    assert_eq!(high_watermark, 5);
    let offsets: Vec<i64> =
        batches(&bytes).map(|batch| batch.unwrap().header().base_offset.0).collect();
    assert_eq!(offsets, [0, 3], "a fetch inside a batch returns the whole batch");
    let (bytes, _) = client.fetch("t", 3, 0).await;
    assert_eq!(batches(&bytes).count(), 1);
    assert_eq!(client.offset_at("t", -1).await, (5, -1));
    assert_eq!(client.offset_at("t", -2).await, (0, -1));
    assert_eq!(client.offset_at("t", -3).await, (4, 40));
    assert_eq!(client.offset_at("t", 15).await, (1, 30));
    assert_eq!(client.offset_at("t", 35).await, (4, 40));
    assert_eq!(client.offset_at("t", 41).await, (-1, -1));
    let metadata = client.call(&MetadataRequest::default(), 12).await;
    assert_eq!(metadata.topics.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_fetch_waits_for_records_and_no_longer() {
    let mut consumer = Client::start(&disks()).await;
    consumer.create("t", 1).await;
    let mut producer = consumer.node.service().connect((Ipv4Addr::LOCALHOST, 2).into());
    std::mem::swap(&mut producer, &mut consumer.connection);
    let started = tokio::time::Instant::now();
    let (bytes, _) = consumer.fetch("t", 0, 400).await;
    assert!(bytes.is_empty());
    assert_eq!(started.elapsed().as_millis(), 400);
    let mut second = Client { connection: producer, ..Client::start(&disks()).await };
    let (fetched, produced) =
        tokio::join!(consumer.fetch("t", 0, 60_000), second.produce("t", records(&[1])));
    assert_eq!(produced.error_code, ErrorCode::NONE);
    assert_eq!(batches(&fetched.0).count(), 1);
    assert!(started.elapsed().as_millis() < 1_000);
}

fn batch_of(codec: Codec, value: &[u8], producer_id: i64, sequence: i32) -> Bytes {
    let producer = tidemill_base::ProducerFacts {
        id: tidemill_base::ids::ProducerId(producer_id),
        epoch: tidemill_base::ids::ProducerEpoch(0),
        base_sequence: tidemill_base::BaseSequence(sequence),
        transaction: 0,
    };
    let mut builder = BatchBuilder::new(codec).producer(producer);
    builder.append_value(TimestampMs(5), None, Some(value)).unwrap();
    builder.finish(&mut Compressor::default()).unwrap()
}

fn produce_frame(records: Bytes) -> Bytes {
    let topic = TopicProduceData {
        name: "t".into(),
        partition_data: vec![PartitionProduceData { index: 0, records: Some(records) }],
        ..TopicProduceData::default()
    };
    let request = ProduceRequest {
        acks: -1,
        timeout_ms: 5000,
        topic_data: vec![topic],
        ..ProduceRequest::default()
    };
    let mut frame = encode_request(1, None, &request, 9).unwrap().to_bytes();
    frame.advance(4);
    frame
}

#[tokio::test(start_paused = true)]
async fn only_what_takes_long_to_decompress_is_judged_elsewhere() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let zeros = vec![0; 900_000];
    for (codec, value, elsewhere) in [
        (Codec::None, &zeros[..], false),
        (Codec::Zstd, &zeros[..16_000], false),
        (Codec::Zstd, &zeros, true),
        (Codec::Gzip, &zeros, true),
        (Codec::Snappy, &zeros, true),
        (Codec::Lz4, &zeros, true),
    ] {
        let dispatched = client.connection.dispatch(produce_frame(batch_of(codec, value, 0, 0)));
        assert_eq!(matches!(dispatched, Dispatched::Pending(_)), elsewhere, "{codec:?}");
    }
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let bomb = batch_of(codec, &vec![0; 65 << 20], 0, 0);
        let code = client.produce("t", bomb).await.error_code;
        assert_eq!(code, ErrorCode::MESSAGE_TOO_LARGE, "{codec:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_are_judged_elsewhere_keep_their_place() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let asked = tidemill_kafka::messages::InitProducerIdRequest {
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    let id = client.call(&asked, 4).await.producer_id;
    let large = vec![0; 900_000];
    let mut answers = Vec::new();
    for sequence in 0..12 {
        let batch = match sequence % 3 {
            0 => batch_of(Codec::None, b"small", id, sequence),
            _ => batch_of(Codec::Zstd, &large, id, sequence),
        };
        // As the listener does: nothing is dispatched while something is pending.
        let mut dispatched = client.connection.dispatch(produce_frame(batch));
        if let Dispatched::Pending(later) = dispatched {
            dispatched = later.await;
        }
        let Dispatched::Later(answer) = dispatched else { panic!() };
        answers.push(answer);
    }
    for (sequence, answer) in answers.into_iter().enumerate() {
        let mut answer = answer.await.to_bytes();
        answer.advance(4);
        let response =
            decode_response::<tidemill_kafka::messages::produce::ProduceResponse>(answer, 9);
        let partition = &response.unwrap().1.responses[0].partition_responses[0];
        assert_eq!(partition.error_code, ErrorCode::NONE, "sequence {sequence}");
        assert_eq!(partition.base_offset, sequence as i64);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stored_batch_keeps_no_frame_of_other_things_alive() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 2).await;
    let partition = |index, records| PartitionProduceData { index, records: Some(records) };
    for (other, is_kept) in [(300, false), (10, true)] {
        let partitions =
            vec![partition(0, records(&[1])), partition(1, Bytes::from(vec![0; other]))];
        let topic = TopicProduceData {
            name: "t".into(),
            partition_data: partitions,
            ..TopicProduceData::default()
        };
        let request = ProduceRequest {
            acks: -1,
            timeout_ms: 5000,
            topic_data: vec![topic],
            ..ProduceRequest::default()
        };
        let mut frame = encode_request(1, None, &request, 9).unwrap().to_bytes();
        frame.advance(4);
        let kept = frame.clone();
        let Dispatched::Later(answer) = client.connection.dispatch(frame) else { panic!() };
        assert!(!answer.await.is_empty());
        assert_eq!(!kept.is_unique(), is_kept, "beside {other} other bytes");
    }
    let (bytes, _) = client.fetch("t", 0, 0).await;
    assert_eq!(batches(&bytes).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn acknowledged_records_survive_a_crash() {
    let disks = disks();
    for life in 0..5 {
        let mut client = Client::start(&disks).await;
        client.create("t", 1).await;
        assert_eq!(client.offset_at("t", -1).await.0, life * 3);
        let (bytes, _) = client.fetch("t", 0, 0).await;
        assert_eq!(batches(&bytes).count() as i64, life);
        assert_eq!(client.produce("t", records(&[1, 2, 3])).await.base_offset, life * 3);
        client.spawn.kill().await;
        disks.disk.crash(life as u64);
        disks.store.crash();
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_as_long_as_it_is_told_and_says_what_is_left() {
    for (ends_after_s, waits_s, connections_left) in [(12, 12, 0), (90, 25, 1)] {
        let client = Client::start(&disks()).await;
        let listener = Arc::clone(&client.node.counters().listener);
        listener.open.fetch_add(1, Ordering::Relaxed);
        let started = tokio::time::Instant::now();
        let connection = async {
            tokio::time::sleep(Duration::from_secs(ends_after_s)).await;
            listener.open.fetch_sub(1, Ordering::Relaxed);
        };
        let drain = async {
            let drained = client.node.drain(Duration::from_secs(25)).await;
            (drained, started.elapsed().as_secs())
        };
        let ((drained, waited_s), ()) = tokio::join!(drain, connection);
        assert_eq!((drained, waited_s), (Drained { connections_left, saved: true }, waits_s));
    }
}

#[tokio::test(start_paused = true)]
async fn records_are_counted_when_they_are_committed_and_when_they_are_fetched() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    client.produce("t", records(&[1, 2, 3])).await;
    let asked = tidemill_kafka::messages::InitProducerIdRequest {
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    let id = client.call(&asked, 4).await.producer_id;
    for (sequence, code) in
        [(0, ErrorCode::NONE), (0, ErrorCode::NONE), (5, ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER)]
    {
        let batch = batch_of(Codec::None, b"value", id, sequence);
        assert_eq!(client.produce("t", batch).await.error_code, code);
    }
    let committed = client.node.counters().writer.records.load(Ordering::Relaxed);
    assert_eq!(committed, 4, "not what was sent again, nor what was refused");
    let fetched = |client: &Client| {
        client.node.broker().request_metrics.records_fetched.load(Ordering::Relaxed)
    };
    client.fetch("t", 4, 100).await;
    assert_eq!(fetched(&client), 0);
    client.fetch("t", 0, 0).await;
    assert_eq!(fetched(&client), 4);
    client.fetch("t", 3, 0).await;
    assert_eq!(fetched(&client), 5);
}

#[tokio::test(start_paused = true)]
async fn a_broker_whose_registration_is_void_refuses_and_says_so_until_it_starts_again() {
    let disks = disks();
    let mut client = Client::start(&disks).await;
    client.create("t", 1).await;
    assert_eq!(client.produce("t", records(&[1])).await.error_code, ErrorCode::NONE);
    assert!(!client.node.broker().is_fenced());
    let another = RegisterBroker {
        broker: client.node.broker().id,
        listeners: Vec::new(),
        zone: None,
        http_address: None,
        feature_level_max: FEATURE_LEVEL,
    };
    client.node.broker().metadata.propose(another).await.unwrap();
    for _ in 0..2 {
        let refused = client.produce("t", records(&[2])).await;
        assert_eq!(refused.error_code, ErrorCode::NOT_LEADER_OR_FOLLOWER);
        assert!(client.node.broker().is_fenced());
    }
    assert_eq!(batches(&client.fetch("t", 0, 0).await.0).count(), 1, "it can still be read");
    client.spawn.kill().await;
    let mut client = Client::start(&disks).await;
    assert_eq!(client.produce("t", records(&[3])).await.base_offset, 1);
    assert!(!client.node.broker().is_fenced());
}
