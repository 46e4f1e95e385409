//! The hand-laid request is what the crate's codec reads; the codec's answer is walked here.

use bytes::Bytes;
use tidemill_kafka::messages::fetch::{
    AbortedTransaction, FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData,
};
use tidemill_kafka::{
    ErrorCode, KString, Reader, RecordParts, RequestHeader, decode_request, encode_response,
};

use super::*;
use crate::batch::Batch;

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

fn answer() -> (Bytes, Batch) {
    let batch = Batch::build(16 * 1024, 1_700_000_000_000).expect("builds");
    let mut records = RecordParts::new();
    for base_offset in [32i64, 48] {
        let mut stored = batch.bytes.clone();
        stored[..8].copy_from_slice(&base_offset.to_be_bytes());
        records.push(Bytes::from(stored));
    }
    records.push(Bytes::copy_from_slice(&batch.bytes[..5_000]));
    let aborted = AbortedTransaction { producer_id: 1, first_offset: 2 };
    let full = PartitionData {
        partition_index: 5,
        high_watermark: 64,
        aborted_transactions: Some(vec![aborted]),
        records: Some(records),
        ..PartitionData::default()
    };
    let refused = PartitionData {
        partition_index: 21,
        error_code: ErrorCode(3),
        records: None,
        ..PartitionData::default()
    };
    let topic = FetchableTopicResponse {
        topic: KString::from("bench"),
        partitions: vec![full, refused],
        ..FetchableTopicResponse::default()
    };
    let answer =
        FetchResponse { session_id: 31, responses: vec![topic], ..FetchResponse::default() };
    (encode_response(8, &answer, 12).expect("encodes").to_bytes(), batch)
}

#[test]
fn the_codecs_answer_is_walked_by_whole_batches() {
    let (frame, batch) = answer();
    let mut seen = Vec::new();
    let head = walk_answer(&frame[4..], |fetched| {
        seen.push((fetched.partition, fetched.error_code, batches(fetched.records).collect()));
    });
    let expected = FetchAnswer { correlation_id: 8, error_code: 0, session_id: 31 };
    assert_eq!(head, Ok(expected));
    let bytes = batch.bytes.len();
    let whole = vec![
        FetchedBatch { base_offset: 32, end_offset: 48, bytes },
        FetchedBatch { base_offset: 48, end_offset: 64, bytes },
    ];
    assert_eq!(seen, [(5, 0, whole), (21, 3, Vec::new())]);
}

#[test]
fn an_answer_that_is_cut_anywhere_is_an_error() {
    let (frame, _) = answer();
    let body = &frame[4..];
    for cut in (0..body.len()).step_by(97).chain(body.len() - 80..body.len()) {
        assert!(walk_answer(&body[..cut], |_| {}).is_err(), "cut at {cut}");
    }
}
