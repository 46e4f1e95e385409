//! The hand-laid request is what the crate's codec reads.

use bytes::Bytes;
use tidemill_kafka::messages::fetch::FetchRequest;
use tidemill_kafka::{Reader, RequestHeader, decode_request};

use super::*;

fn settings() -> FetchSettings {
    FetchSettings { topic: "bench".to_owned(), wait_ms_max: 500, bytes_max: 1 << 20 }
}

fn decoded(session: Session, partitions: &[FetchFrom]) -> FetchRequest {
    let mut out = vec![1, 2, 3];
    put_request(&mut out, &settings(), session, 77, partitions);
    let mut reader = Reader::new(Bytes::from(out).slice(4..));
    let header = RequestHeader::decode(&mut reader).expect("a header");
    assert_eq!((header.api_key, header.api_version, header.correlation_id), (1, 12, 77));
    let request = decode_request(&mut reader, &header).expect("a request");
    reader.expect_end().expect("nothing follows");
    request
}

#[test]
fn the_codec_reads_the_first_request_of_a_session() {
    let partitions: Vec<FetchFrom> =
        (0..300).map(|p| FetchFrom { partition: p * 16, offset: i64::from(p) << 33 }).collect();
    let request = decoded(Session::default(), &partitions);
    assert_eq!((request.replica_id, request.max_wait_ms, request.min_bytes), (-1, 500, 1));
    assert_eq!((request.max_bytes, request.session_id, request.session_epoch), (1 << 20, 0, 0));
    let topic = &request.topics[0];
    assert_eq!((request.topics.len(), topic.topic.as_str()), (1, "bench"));
    let read: Vec<FetchFrom> = topic
        .partitions
        .iter()
        .map(|p| FetchFrom { partition: p.partition, offset: p.fetch_offset })
        .collect();
    assert_eq!(read, partitions);
    assert!(topic.partitions.iter().all(|p| p.partition_max_bytes == 1 << 20));
}

#[test]
fn the_codec_reads_a_request_in_which_nothing_moved() {
    let request = decoded(Session { id: 9, epoch: 4 }, &[]);
    assert_eq!((request.session_id, request.session_epoch), (9, 4));
    assert!(request.topics.is_empty() && request.forgotten_topics_data.is_empty());
}
