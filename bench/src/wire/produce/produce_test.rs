//! The hand-laid request is what the crate's codec reads; the codec's answer is what is read here.

use bytes::Bytes;
use tidemill_kafka::messages::produce::{
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse,
};
use tidemill_kafka::{ErrorCode, KString, Reader, RequestHeader, decode_request, encode_response};

use super::*;
use crate::batch::Batch;

fn frame_of(head: &ProduceHead, batch: &Batch) -> Bytes {
    Bytes::from([head.bytes(), &batch.bytes, &TAIL].concat())
}

#[test]
fn the_codec_reads_every_patched_request() {
    for kib in [1, 16, 256] {
        let batch = Batch::build(kib * 1024, 1_700_000_000_000).expect("builds");
        let mut head = ProduceHead::new("bench", batch.bytes.len());
        for (correlation_id, partition) in [(0, 0), (7, 15), (i32::MAX, 9_999)] {
            head.patch(correlation_id, partition);
            let frame = frame_of(&head, &batch);
            let length = u32::from_be_bytes(*frame.first_chunk().expect("a length"));
            assert_eq!(length as usize, frame.len() - 4);

            let mut reader = Reader::new(frame.slice(4..));
            let header = RequestHeader::decode(&mut reader).expect("a header");
            assert_eq!((header.api_key, header.api_version), (0, 9));
            assert_eq!(header.correlation_id, correlation_id);
            let request: ProduceRequest = decode_request(&mut reader, &header).expect("a request");
            reader.expect_end().expect("nothing follows");
            assert_eq!((request.acks, request.transactional_id), (-1, None));
            let topic = &request.topic_data[0];
            assert_eq!((request.topic_data.len(), topic.name.as_str()), (1, "bench"));
            let data = &topic.partition_data[0];
            assert_eq!((topic.partition_data.len(), data.index), (1, partition));
            assert_eq!(data.records.as_deref(), Some(batch.bytes.as_slice()));
        }
    }
}

#[test]
fn the_codecs_answer_is_read() {
    let partition = PartitionProduceResponse {
        index: 3,
        error_code: ErrorCode(6),
        base_offset: 1_234_567,
        ..PartitionProduceResponse::default()
    };
    let topic = TopicProduceResponse {
        name: KString::from("bench"),
        partition_responses: vec![partition],
        ..TopicProduceResponse::default()
    };
    let answer = ProduceResponse { responses: vec![topic], ..ProduceResponse::default() };
    let frame = encode_response(42, &answer, 9).expect("encodes").to_bytes();
    let read = ProduceAnswer::read(&frame[4..]);
    let expected = ProduceAnswer { correlation_id: 42, error_code: 6, base_offset: 1_234_567 };
    assert_eq!(read, Ok(expected));
    // The fields that matter end 13 bytes before the frame does.
    for cut in 0..frame.len() - 40 {
        assert!(ProduceAnswer::read(&frame[4..4 + cut]).is_err(), "cut at {cut}");
    }
}
