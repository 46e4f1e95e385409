//! The whole driver against a broker in miniature: every batch that is sent is acknowledged, reaches
//! the consumers once and in order, and a backlog is read over and over.
//!
//! The stub speaks Produce and Fetch through the crate's codec, keeps batches in memory, and serves
//! each connection with a thread. No figure is asserted that depends on how fast this machine is.

#![expect(clippy::unwrap_used, reason = "a stub that cannot go on fails its test")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use tidemill_bench::batch::Batch;
use tidemill_bench::driver::load::{
    BacklogLoad, FetchLoad, Load, Pacing, ProduceLoad, TailLoad, Timing,
};
use tidemill_bench::driver::run::run;
use tidemill_kafka::messages::fetch::{
    FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData,
};
use tidemill_kafka::messages::produce::{
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse,
};
use tidemill_kafka::{
    ApiKey, ErrorCode, KString, Reader, RecordParts, RequestHeader, decode_request, encode_response,
};

const PARTITIONS: u32 = 6;
const RECORDS: i64 = 16;
const MS: u64 = 1_000_000;

/// What the stub keeps: per partition its batches, all of `RECORDS` records.
type Logs = Arc<Mutex<BTreeMap<i32, Vec<Bytes>>>>;

/// Starts a stub that answers the `refused`-th produce request, if any, with an error.
fn start_stub(refused: Option<usize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let logs = Logs::default();
    let produced = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (logs, produced) = (logs.clone(), produced.clone());
            thread::spawn(move || serve(stream.unwrap(), &logs, &produced, refused));
        }
    });
    address
}

/// Serves a connection until its client goes.
fn serve(mut stream: TcpStream, logs: &Logs, produced: &AtomicUsize, refused: Option<usize>) {
    // What a session of this connection fetches: partition to next offset.
    let mut session = BTreeMap::new();
    loop {
        let mut length = [0; 4];
        if stream.read_exact(&mut length).is_err() {
            return;
        }
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut frame).unwrap();
        let mut reader = Reader::new(Bytes::from(frame));
        let header = RequestHeader::decode(&mut reader).unwrap();
        let (correlation_id, version) = (header.correlation_id, header.api_version);
        let answer = match header.api() {
            Some(ApiKey::Produce) => {
                let number = produced.fetch_add(1, Ordering::Relaxed);
                let request = decode_request(&mut reader, &header).unwrap();
                let answer = produce(&request, logs, Some(number) == refused);
                encode_response(correlation_id, &answer, version)
            }
            Some(ApiKey::Fetch) => {
                let request = decode_request(&mut reader, &header).unwrap();
                encode_response(correlation_id, &fetch(&request, logs, &mut session), version)
            }
            other => panic!("{other:?} is not asked by the driver"),
        };
        if stream.write_all(&answer.unwrap().to_bytes()).is_err() {
            return;
        }
    }
}

fn produce(request: &ProduceRequest, logs: &Logs, refused: bool) -> ProduceResponse {
    let data = &request.topic_data[0].partition_data[0];
    let mut logs = logs.lock().unwrap();
    let log = logs.entry(data.index).or_default();
    let base_offset = log.len() as i64 * RECORDS;
    if !refused {
        let mut batch = data.records.clone().unwrap().to_vec();
        batch[..8].copy_from_slice(&base_offset.to_be_bytes());
        log.push(Bytes::from(batch));
    }
    let partition = PartitionProduceResponse {
        index: data.index,
        error_code: if refused { ErrorCode(6) } else { ErrorCode::NONE },
        base_offset,
        ..PartitionProduceResponse::default()
    };
    let topic = TopicProduceResponse {
        name: KString::from("bench"),
        partition_responses: vec![partition],
        ..TopicProduceResponse::default()
    };
    ProduceResponse { responses: vec![topic], ..ProduceResponse::default() }
}

/// At most two batches of each partition of the session that has any.
fn fetch(request: &FetchRequest, logs: &Logs, session: &mut BTreeMap<i32, i64>) -> FetchResponse {
    assert_eq!(request.session_id == 0, session.is_empty(), "one session per connection");
    for partition in request.topics.iter().flat_map(|topic| &topic.partitions) {
        session.insert(partition.partition, partition.fetch_offset);
    }
    let logs = logs.lock().unwrap();
    let mut partitions = Vec::new();
    for (&partition_index, &from) in &*session {
        let mut records = RecordParts::new();
        let log = logs.get(&partition_index).map_or(&[][..], Vec::as_slice);
        for batch in log.iter().skip((from / RECORDS) as usize).take(2) {
            records.push(batch.clone());
        }
        if !records.is_empty() {
            let records = Some(records);
            partitions.push(PartitionData { partition_index, records, ..PartitionData::default() });
        }
    }
    drop(logs);
    if partitions.is_empty() {
        thread::sleep(Duration::from_millis(2));
        return FetchResponse { session_id: 1, ..FetchResponse::default() };
    }
    let topic = FetchableTopicResponse {
        topic: KString::from("bench"),
        partitions,
        ..FetchableTopicResponse::default()
    };
    FetchResponse { session_id: 1, responses: vec![topic], ..FetchResponse::default() }
}

fn load(broker: SocketAddr, measure_ms: u64) -> Load {
    Load {
        broker,
        broker_pid: None,
        topic: "bench".to_owned(),
        partitions: PARTITIONS,
        batch: Batch::build(RECORDS as usize * 1024, 1_700_000_000_000).unwrap(),
        produce: None,
        tail: None,
        backlog: None,
        timing: Timing { warm_up_ns: 20 * MS, measure_ns: measure_ms * MS },
    }
}

fn produce_load(pacing: Pacing) -> ProduceLoad {
    ProduceLoad {
        connections: 4,
        in_flight_max: 5,
        pacing,
        lag_bytes_max: None,
        stop_after_bytes: None,
    }
}

const FETCH: FetchLoad = FetchLoad { connections: 3, bytes_max: 1 << 20, wait_ms_max: 500 };

#[test]
fn by_schedule_everything_meant_is_acknowledged_and_consumed() {
    let broker = start_stub(None);
    // 100 batches a second for 520 ms, of which the last 500 ms are measured.
    let batch_bytes = load(broker, 0).batch.bytes.len() as u64;
    let pacing = Pacing::OpenLoop { bytes_per_second: batch_bytes * 100 };
    let report = run(&Load {
        produce: Some(produce_load(pacing)),
        tail: Some(TailLoad { fetch: FETCH, from_offsets: Vec::new() }),
        ..load(broker, 500)
    })
    .unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(report.end_offsets.iter().sum::<i64>(), 52 * RECORDS);
    let (produce, tail) = (report.produce.unwrap(), report.tail.unwrap());
    // Latencies are of what was meant within the window: all 50, however late they came.
    assert_eq!((produce.latency.count, tail.latency.count), (50, 50));
}

#[test]
fn a_closed_loop_ends_after_the_bytes_asked_for_and_its_backlog_is_read_over_and_over() {
    let broker = start_stub(None);
    let bytes = 1_000_000;
    let produce = ProduceLoad { stop_after_bytes: Some(bytes), ..produce_load(Pacing::ClosedLoop) };
    let load = load(broker, 60_000);
    let preload = run(&Load { produce: Some(produce), ..load.clone() }).unwrap();
    let stored_records: i64 = preload.end_offsets.iter().sum();
    assert!(stored_records as u64 * 1024 >= bytes - 100_000, "{stored_records} records");
    assert!(preload.end_offsets.iter().all(|end| *end > 0), "{:?}", preload.end_offsets);

    let backlog = BacklogLoad { fetch: FETCH, end_offsets: preload.end_offsets };
    let timing = Timing { warm_up_ns: 0, measure_ns: 300 * MS };
    let read = run(&Load { backlog: Some(backlog), timing, ..load }).unwrap();
    assert!(read.errors.is_empty() && read.backlog.unwrap().batches > 0);
}

#[test]
fn an_error_makes_a_run_invalid() {
    let broker = start_stub(Some(5));
    let produce = produce_load(Pacing::OpenLoop { bytes_per_second: 1_600_000 });
    let report = run(&Load { produce: Some(produce), ..load(broker, 200) }).unwrap();
    assert_eq!(report.errors, BTreeMap::from([("produce: code 6".to_owned(), 1)]));
    let told = report.invalid.iter().any(|reason| reason.contains("code 6"));
    assert!(told, "{:?}", report.invalid);
}
