//! Times of records: found by ListOffsets, and told to those who retry.

use tidemill_kafka::messages::create_topics::CreatableTopicConfig;
use tidemill_kafka::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
};
use tidemill_records::BatchHeader;

use super::*;

const LATEST_TIMESTAMP: i64 = -3;

async fn delete_below(client: &mut Client, offset: i64) {
    let partition = DeleteRecordsPartition { partition_index: 0, offset };
    let topic = DeleteRecordsTopic { name: "t".into(), partitions: vec![partition] };
    let request = DeleteRecordsRequest { topics: vec![topic], timeout_ms: 1000 };
    let response = client.call(&request, 2).await;
    assert_eq!(response.topics[0].partitions[0].error_code, ErrorCode::NONE);
}

/// Castagnoli's, a bit at a time.
fn crc32c(bytes: &[u8]) -> u32 {
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0x82F6_3B78 * (crc & 1)))
    });
    !crc
}

/// Records under a header that claims a larger timestamp than any of them has.
fn records_claiming(claim: i64, timestamps: &[i64]) -> Bytes {
    let mut bytes = records(timestamps).to_vec();
    let header = BatchHeader::parse(&bytes).unwrap();
    let header = BatchHeader { max_timestamp: TimestampMs(claim), ..header }.encode();
    bytes[..header.len()].copy_from_slice(&header);
    let crc = crc32c(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes.into()
}

#[tokio::test(start_paused = true)]
async fn the_largest_timestamp_is_of_what_the_log_start_left() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (-1, -1));
    client.produce("t", records(&[90, 10, 30, 30, 20])).await;
    client.produce("t", records(&[25, 5])).await;
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (0, 90));
    delete_below(&mut client, 1).await;
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (2, 30));
    delete_below(&mut client, 3).await;
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (3, 30));
    delete_below(&mut client, 4).await;
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (5, 25));
    delete_below(&mut client, 7).await;
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (-1, -1));
}

#[tokio::test(start_paused = true)]
async fn the_largest_timestamp_is_a_records_whatever_headers_claim() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    for batch in [
        records(&[60, 70]),
        records_claiming(80, &[10]),
        records(&[70]),
        records_claiming(90, &[65]),
        records(&[-5]),
    ] {
        assert_eq!(client.produce("t", batch).await.error_code, ErrorCode::NONE);
    }
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (1, 70));
    delete_below(&mut client, 2).await;
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (3, 70));
    delete_below(&mut client, 4).await;
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (4, 65));
    delete_below(&mut client, 5).await;
    assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (5, -5));
}

async fn list_offsets(client: &mut Client, asked: &[(&str, i32, i64)]) -> Vec<(ErrorCode, i64)> {
    let topic = |&(name, partition_index, timestamp): &(&str, i32, i64)| ListOffsetsTopic {
        name: name.into(),
        partitions: vec![ListOffsetsPartition {
            partition_index,
            timestamp,
            ..ListOffsetsPartition::default()
        }],
    };
    let topics = asked.iter().map(topic).collect();
    let request = ListOffsetsRequest { topics, ..ListOffsetsRequest::default() };
    let response = client.call(&request, 7).await;
    let partitions = response.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|partition| (partition.error_code, partition.offset)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_partition_named_twice_is_refused_and_others_are_not() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 2).await;
    client.create("u", 1).await;
    client.produce("t", records(&[10, 20])).await;
    let asked = [("t", 0, 15), ("u", 0, -1), ("t", 1, -1), ("t", 0, -1), ("u", 1, -1)];
    let refused = (ErrorCode::INVALID_REQUEST, -1);
    let unknown = (ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1);
    let (none, found) = ((ErrorCode::NONE, 0), (ErrorCode::NONE, 1));
    assert_eq!(list_offsets(&mut client, &asked).await, [refused, none, none, refused, unknown]);
    assert_eq!(list_offsets(&mut client, &asked[..1]).await, [found]);
}

/// 15 MiB in one record, and the record that is looked for after it.
fn large_then_small(codec: Codec) -> Bytes {
    let mut builder = BatchBuilder::new(codec);
    let large = vec![0; 15 << 20];
    builder.append_value(TimestampMs(10), None, Some(&large)).unwrap();
    builder.append_value(TimestampMs(20), None, Some(b"small")).unwrap();
    builder.finish(&mut Compressor::default()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_takes_long_to_decompress_is_searched_elsewhere() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    for (base, codec) in (0..).step_by(2).zip([Codec::Gzip, Codec::Zstd, Codec::Lz4]) {
        let produced = client.produce("t", large_then_small(codec)).await;
        assert_eq!((produced.error_code, produced.base_offset), (ErrorCode::NONE, base));
        for (timestamp, found) in [(5, (base, 10)), (15, (base + 1, 20)), (-3, (base + 1, 20))] {
            assert_eq!(client.offset_at("t", timestamp).await, found, "{codec:?}");
        }
        delete_below(&mut client, base + 1).await;
        assert_eq!(client.offset_at("t", 5).await, (base + 1, 20));
        assert_eq!(client.offset_at("t", LATEST_TIMESTAMP).await, (base + 1, 20));
        delete_below(&mut client, base + 2).await;
        assert_eq!(client.offset_at("t", 5).await, (-1, -1));
    }
}

/// On the only thread of this test: without a pause, who asks for less would be answered last.
#[tokio::test(start_paused = true)]
async fn others_are_answered_while_a_search_takes_long() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    client.produce("t", large_then_small(Codec::Gzip)).await;
    client.create("small", 300).await;
    let one = |name: &str, partition_index, timestamp| ListOffsetsTopic {
        name: name.into(),
        partitions: vec![ListOffsetsPartition {
            partition_index,
            timestamp,
            ..ListOffsetsPartition::default()
        }],
    };
    let all = (0..300).map(|partition| one("small", partition, -1)).collect();
    for topics in [vec![one("t", 0, 15)], vec![one("t", 0, -3)], all] {
        let mut dispatched = |topics| {
            let request = ListOffsetsRequest { topics, ..ListOffsetsRequest::default() };
            let mut frame = encode_request(1, None, &request, 7).unwrap().to_bytes();
            frame.advance(4);
            match client.connection.dispatch(frame) {
                Dispatched::Later(answer) => answer,
                _ => panic!("ListOffsets is answered later"),
            }
        };
        let (long, short) = (dispatched(topics), dispatched(vec![one("small", 0, -1)]));
        let order = Mutex::new(Vec::new());
        let noted = async |name, answer: BoxFuture<'static, Parts>| {
            answer.await;
            order.lock().push(name);
        };
        tokio::join!(biased; noted("long", long), noted("short", short));
        assert_eq!(order.into_inner(), ["short", "long"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_sent_again_is_answered_with_the_time_of_its_first_append() {
    let disks = disks();
    let mut client = Client::start(&disks).await;
    let topic = CreatableTopic {
        name: "t".into(),
        num_partitions: 1,
        replication_factor: 1,
        configs: vec![CreatableTopicConfig {
            name: "message.timestamp.type".into(),
            value: Some("LogAppendTime".into()),
        }],
        ..CreatableTopic::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() };
    client.call(&request, 7).await;
    let id = tidemill_kafka::messages::InitProducerIdRequest {
        producer_id: -1,
        producer_epoch: -1,
        ..Default::default()
    };
    let id = client.call(&id, 4).await.producer_id;
    let batch = |sequence| batch_of(Codec::Lz4, b"value", id, sequence);
    let mut times = Vec::new();
    for sequence in 0..3 {
        let first = client.produce("t", batch(sequence)).await;
        assert_eq!((first.error_code, first.base_offset), (ErrorCode::NONE, i64::from(sequence)));
        times.push(first.log_append_time_ms);
        tokio::time::advance(Duration::from_secs(7)).await;
    }
    assert!(times.is_sorted_by(|a, b| a < b) && times[0] > 0, "{times:?}");
    let again = client.produce("t", batch(1)).await;
    assert_eq!((again.base_offset, again.log_append_time_ms), (1, times[1]));
    client.spawn.kill().await;
    let mut client = Client::start(&disks).await;
    let again = client.produce("t", batch(2)).await;
    assert_eq!((again.base_offset, again.log_append_time_ms), (2, times[2]));
    delete_below(&mut client, 3).await;
    let again = client.produce("t", batch(2)).await;
    assert_eq!((again.base_offset, again.log_append_time_ms), (2, -1));
}
