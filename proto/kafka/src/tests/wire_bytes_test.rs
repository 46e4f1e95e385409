//! Bytes checked by hand against Kafka's protocol description, so that a mistake shared with the
//! published crate would still be seen.

use bytes::Bytes;
use uuid::Uuid;

use crate::decode_error::DecodeReason;
use crate::messages::api_versions::*;
use crate::messages::fetch::*;
use crate::messages::metadata::*;
use crate::messages::produce::*;
use crate::*;

/// Hexadecimal text, blanks ignored, as bytes.
fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// The message must read from, and write, exactly these bytes.
fn same<M: Message>(message: &M, version: i16, bytes: &str) {
    let mut w = Writer::new();
    message.encode(&mut w, version);
    assert_eq!(w.finish_body().unwrap(), hex(bytes));
    let mut r = Reader::new(hex(bytes));
    assert_eq!(&M::decode(&mut r, version).unwrap(), message);
    r.expect_end().unwrap();
}

#[test]
fn api_versions_3_request_with_its_header() {
    let request = ApiVersionsRequest {
        client_software_name: "kcat".into(),
        client_software_version: "1".into(),
    };
    let frame = encode_request(5, Some(&"c".into()), &request, 3).unwrap();
    // Length, key 18, version 3, correlation id, client id "c", no header tags; then the body.
    let expected = hex("00000014 0012 0003 00000005 0001 63 00  05 6b636174 02 31 00");
    assert_eq!(frame.to_bytes(), expected);
    let mut r = Reader::new(expected.slice(4..));
    let header = RequestHeader::decode(&mut r).unwrap();
    assert_eq!(header.api(), Some(ApiKey::ApiVersions));
    assert_eq!(decode_request::<ApiVersionsRequest>(&mut r, &header), Ok(request));
}

fn two_apis() -> ApiVersionsResponse {
    let api = |api_key, min_version, max_version| ApiVersion { api_key, min_version, max_version };
    ApiVersionsResponse { api_keys: vec![api(0, 0, 13), api(18, 0, 4)], ..Default::default() }
}

#[test]
fn api_versions_3_response_has_the_old_header() {
    let frame = encode_response(7, &two_apis(), 3).unwrap().to_bytes();
    // Length, correlation id, no header tags; error, 2 + 1 keys of 6 bytes and their tags, throttle.
    let expected =
        hex("0000001a 00000007  0000 03 0000 0000 000d 00 0012 0000 0004 00 00000000 00");
    assert_eq!(frame, expected);
    assert_eq!(decode_response(expected.slice(4..), 3), Ok((7, two_apis())));
}

#[test]
fn api_versions_4_response_with_features() {
    let response = ApiVersionsResponse {
        supported_features: vec![SupportedFeatureKey {
            name: "f".into(),
            min_version: 0,
            max_version: 2,
        }],
        finalized_features_epoch: 9,
        zk_migration_ready: true,
        ..two_apis()
    };
    same(
        &response,
        4,
        "0000 03 0000 0000 000d 00 0012 0000 0004 00 00000000
         03  00 08 02 02 66 0000 0002 00  01 08 0000000000000009  03 01 01",
    );
}

#[test]
fn api_versions_of_an_unknown_version_is_answered_in_version_0() {
    let refusal = ApiVersionsResponse { error_code: ErrorCode::UNSUPPORTED_VERSION, ..two_apis() };
    let frame = encode_response(1, &refusal, 0).unwrap().to_bytes();
    let expected = hex("00000016 00000001 0023 00000002 0000 0000 000d 0012 0000 0004");
    assert_eq!(frame, expected);
    assert_eq!(decode_response(frame.slice(4..), 4), Ok((1, refusal)));
}

#[test]
fn metadata_12_request_and_response() {
    let id = Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
    let request = MetadataRequest {
        topics: Some(vec![
            MetadataRequestTopic { topic_id: Uuid::nil(), name: Some("ab".into()) },
            MetadataRequestTopic { topic_id: id, name: None },
        ]),
        allow_auto_topic_creation: false,
        include_topic_authorized_operations: true,
        ..Default::default()
    };
    same(
        &request,
        12,
        "03 00000000000000000000000000000000 03 6162 00
            0102030405060708090a0b0c0d0e0f10 00 00  00 01 00",
    );
    let response = MetadataResponse {
        brokers: vec![MetadataResponseBroker {
            node_id: 1,
            host: "h".into(),
            port: 9092,
            rack: None,
        }],
        cluster_id: Some("c".into()),
        controller_id: 1,
        topics: vec![MetadataResponseTopic {
            name: Some("ab".into()),
            topic_id: id,
            partitions: vec![MetadataResponsePartition {
                leader_id: 1,
                leader_epoch: 4,
                replica_nodes: vec![1, 2],
                isr_nodes: vec![1],
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    same(
        &response,
        12,
        "00000000  02 00000001 02 68 00002384 00 00  02 63  00000001
         02 0000 03 6162 0102030405060708090a0b0c0d0e0f10 00
            02 0000 00000000 00000001 00000004 03 00000001 00000002 02 00000001 01 00
            80000000 00  00",
    );
}

#[test]
fn produce_9_request_and_response() {
    let request = ProduceRequest {
        transactional_id: None,
        acks: -1,
        timeout_ms: 1500,
        topic_data: vec![TopicProduceData {
            name: "ab".into(),
            partition_data: vec![
                PartitionProduceData { index: 2, records: Some(Bytes::from_static(b"xyz")) },
                PartitionProduceData { index: 3, records: None },
            ],
            ..Default::default()
        }],
    };
    same(
        &request,
        9,
        "00 ffff 000005dc  02 03 6162 03 00000002 04 78797a 00  00000003 00 00  00  00",
    );
    let response = ProduceResponse {
        responses: vec![TopicProduceResponse {
            name: "ab".into(),
            partition_responses: vec![PartitionProduceResponse {
                index: 2,
                base_offset: 258,
                log_start_offset: 1,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    same(
        &response,
        9,
        "02 03 6162 02 00000002 0000 0000000000000102 ffffffffffffffff 0000000000000001 01 00 00
         00  00000000 00",
    );
}

#[test]
fn produce_0_to_2_is_refused_in_its_own_shape() {
    let refusal = ProduceResponse {
        responses: vec![TopicProduceResponse {
            name: "t".into(),
            partition_responses: vec![PartitionProduceResponse {
                index: 1,
                error_code: ErrorCode::UNSUPPORTED_VERSION,
                base_offset: -1,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let partition = "00000001 0001 74 00000001 00000001 0023 ffffffffffffffff";
    same(&refusal, 0, partition);
    same(&refusal, 1, &format!("{partition} 00000000"));
    same(&refusal, 2, &format!("{partition} ffffffffffffffff 00000000"));
    let request = "0001 00000064 00000001 0001 74 00000001 00000001 00000002 cafe";
    for version in 0..3 {
        let mut r = Reader::new(hex(request));
        let request = ProduceRequest::decode(&mut r, version).unwrap();
        assert_eq!(request.topic_data[0].partition_data[0].records, Some(hex("cafe")));
        r.expect_end().unwrap();
    }
}

#[test]
fn fetch_12_request_and_response() {
    let request = FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 0x0100_0000,
        isolation_level: 1,
        topics: vec![FetchTopic {
            topic: "ab".into(),
            partitions: vec![FetchPartition {
                partition: 5,
                fetch_offset: 16,
                partition_max_bytes: 1024,
                ..Default::default()
            }],
            ..Default::default()
        }],
        cluster_id: Some("c".into()),
        ..Default::default()
    };
    same(
        &request,
        12,
        "ffffffff 000001f4 00000001 01000000 01 00000000 ffffffff
         02 03 6162 02 00000005 ffffffff 0000000000000010 ffffffff ffffffffffffffff 00000400 00 00
         01 01  01 00 02 02 63",
    );
    let mut records = RecordParts::new();
    records.push_batch(*b"0123456789abcdef", Bytes::from_static(b"xyz"));
    let response = FetchResponse {
        responses: vec![FetchableTopicResponse {
            topic: "ab".into(),
            partitions: vec![PartitionData {
                partition_index: 5,
                high_watermark: 17,
                last_stable_offset: 17,
                log_start_offset: 0,
                records: Some(records),
                current_leader: leader(3, 8),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    same(
        &response,
        12,
        "00000000 0000 00000000
         02 03 6162 02 00000005 0000 0000000000000011 0000000000000011 0000000000000000 00 ffffffff
            14 30313233343536373839616263646566 78797a  01 01 09 00000003 00000008 00
         00  00",
    );
}

fn leader(leader_id: i32, leader_epoch: i32) -> messages::leader_hint::LeaderIdAndEpoch {
    messages::leader_hint::LeaderIdAndEpoch { leader_id, leader_epoch }
}

#[test]
fn record_bytes_are_shared_in_both_directions() {
    let batch = Bytes::from(vec![0xab; 100_000]);
    let mut records = RecordParts::with_batches(2);
    records.push_batch([1; 16], batch.clone());
    records.push_batch([2; 16], batch.clone());
    let partition = PartitionData { records: Some(records), ..Default::default() };
    let topic = FetchableTopicResponse { partitions: vec![partition], ..Default::default() };
    let response = FetchResponse { responses: vec![topic], ..Default::default() };
    let parts = encode_response(1, &response, 17).unwrap();
    let is_batch = |part: &&Part| matches!(part, Part::Shared(b) if b.as_ptr() == batch.as_ptr());
    let shared = parts.left().iter().filter(is_batch).count();
    assert_eq!((shared, parts.left().len()), (2, 5));

    let frame = parts.to_bytes().slice(4..);
    let (_, read): (i32, FetchResponse) = decode_response(frame.clone(), 17).unwrap();
    let taken = read.responses[0].partitions[0].records.as_ref().unwrap().to_bytes();
    assert!(frame.as_ptr_range().contains(&taken.as_ptr()));
    assert_eq!(read, response);
}

/// The body that makes the published crate ask for 412,316,860,224 bytes and abort: 15 bytes, of
/// which five announce 2^32 - 2 topics.
#[test]
fn the_fifteen_byte_frame_is_refused_without_allocating() {
    let body = "04 616263 ffff 000005dc ffffffff0f";
    assert_eq!(hex(body).len(), 15);
    let error = ProduceRequest::decode(&mut Reader::new(hex(body)), 9).unwrap_err();
    assert_eq!(error.reason, DecodeReason::CountTooLarge);
    assert_eq!(error.field, "ProduceRequest.topic_data");
    fuzz::fuzz_frame(&hex(&format!("0000 0009 00000001 ffff 00 {body}")));
}

#[test]
fn arrays_that_would_take_too_much_memory_are_refused() {
    // A million topics of three bytes each; 72 bytes each in memory.
    let mut body = hex("00 ffff 000005dc c1843d").to_vec();
    body.resize(body.len() + 3_000_000, 0x01);
    let mut r = Reader::new(body.into());
    let error = ProduceRequest::decode(&mut r, 9).unwrap_err();
    assert_eq!(error.reason, DecodeReason::MemoryTooLarge);
    assert_eq!(error.kind(), tidemill_base::ErrorKind::Invalid);
}
