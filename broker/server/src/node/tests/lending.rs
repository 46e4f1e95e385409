//! Batches that are sent from their file are those that were committed, whatever was expected when
//! they were written.

use std::sync::atomic::Ordering;

use tidemill_base::{BaseSequence, ProducerEpoch, ProducerFacts, ProducerId};

use tidemill_kafka::messages::init_producer_id::InitProducerIdRequest;
use tidemill_records::{DecompressLimits, Decompressor, Records};

use super::*;

async fn producer_id(client: &mut Client) -> ProducerId {
    let request = InitProducerIdRequest { transaction_timeout_ms: 1, ..Default::default() };
    ProducerId(client.call(&request, 4).await.producer_id)
}

fn idempotent(id: ProducerId, sequence: i32, count: usize) -> Bytes {
    let producer = ProducerFacts {
        id,
        epoch: ProducerEpoch(0),
        base_sequence: BaseSequence(sequence),
        transaction: 0,
    };
    let mut builder = BatchBuilder::new(Codec::None).producer(producer);
    for record in 0..count {
        let value = format!("{:04}", sequence as usize + record);
        builder.append_value(TimestampMs(9), None, Some(value.as_bytes())).unwrap();
    }
    builder.finish(&mut Compressor::default()).unwrap()
}

/// Produces all at once, so that they lie in one object.
async fn produce_together(client: &mut Client, batches: Vec<Bytes>) -> Vec<i64> {
    let mut answers = Vec::new();
    for records in batches {
        let request = ProduceRequest {
            acks: -1,
            timeout_ms: 5000,
            topic_data: vec![TopicProduceData {
                name: "t".into(),
                partition_data: vec![PartitionProduceData { index: 0, records: Some(records) }],
                ..TopicProduceData::default()
            }],
            ..ProduceRequest::default()
        };
        let mut frame = encode_request(1, None, &request, 9).unwrap().to_bytes();
        frame.advance(4);
        let Dispatched::Later(answer) = client.connection.dispatch(frame) else { panic!() };
        answers.push(answer);
    }
    let mut offsets = Vec::new();
    for answer in answers {
        let mut frame = answer.await.to_bytes();
        frame.advance(4);
        let (_, mut response) =
            decode_response::<<ProduceRequest as Request>::Response>(frame, 9).unwrap();
        offsets.push(response.responses.remove(0).partition_responses.remove(0).base_offset);
    }
    offsets
}

/// Offsets and values of all records from `offset` on, as one fetch answers them.
async fn read(client: &mut Client, offset: i64) -> Vec<(i64, String)> {
    let (bytes, _) = client.fetch("t", offset, 0).await;
    let mut found = Vec::new();
    for batch in batches(&bytes) {
        let batch = batch.unwrap();
        let batch = batch.view();
        batch.verify_crc().unwrap();
        let mut decompressor = Decompressor::default();
        let records = Records::open(batch, &mut decompressor, &DecompressLimits::default());
        for record in records.unwrap().iter() {
            let record = record.unwrap();
            let value = String::from_utf8(record.value.unwrap().to_vec()).unwrap();
            found.push((record.offset.0, value));
        }
    }
    found
}

#[tokio::test(start_paused = true)]
async fn refused_batches_shift_the_heads_and_never_the_answers() {
    let disks = disks();
    let mut client = Client::start(&disks).await;
    client.create("t", 1).await;
    let id = producer_id(&mut client).await;
    let batch = |sequence, count| idempotent(id, sequence, count);
    let first = vec![batch(0, 3), batch(3, 2), batch(0, 3), batch(5, 4)];
    assert_eq!(produce_together(&mut client, first).await, [0, 3, 0, 5]);
    let second = vec![batch(5, 4), batch(9, 1), batch(10, 7)];
    assert_eq!(produce_together(&mut client, second).await, [5, 9, 10]);
    let expected: Vec<(i64, String)> = (0..17).map(|n| (n, format!("{n:04}"))).collect();
    assert_eq!(read(&mut client, 0).await, expected);
    client.spawn.kill().await;

    // Nothing is in memory now, and the file is not open until it was read once.
    let mut client = Client::start(&disks).await;
    assert_eq!(read(&mut client, 0).await, expected);
    let lent = |client: &Client| client.node.counters().reads.lent_reads.load(Ordering::Relaxed);
    let before = lent(&client);
    assert_eq!(read(&mut client, 0).await, expected);
    assert!(lent(&client) > before, "the heads before the first refusal are right");
    for offset in 0..17 {
        let from = read(&mut client, offset).await;
        let first = from.first().map(|record| record.0).unwrap();
        assert!(first <= offset && from[..] == expected[first as usize..], "from {offset}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_end_between_batches_where_the_limit_falls_inside_an_extent() {
    let disks = disks();
    let mut client = Client::start(&disks).await;
    client.create("t", 1).await;
    let id = producer_id(&mut client).await;
    let sent: Vec<Bytes> = (0..10).map(|n| idempotent(id, n * 5, 5)).collect();
    let batch_bytes = sent[1].len() as i32;
    assert_eq!(produce_together(&mut client, sent).await[9], 45);
    client.spawn.kill().await;
    let mut client = Client::start(&disks).await;
    client.fetch("t", 0, 0).await;
    for (limit, expected) in [(1, 1), (2 * batch_bytes - 1, 1), (3 * batch_bytes + 1, 3)] {
        let (bytes, _) = client.fetch_up_to("t", 7, 0, limit).await;
        let offsets: Vec<i64> =
            batches(&bytes).map(|batch| batch.unwrap().header().base_offset.0).collect();
        let wanted: Vec<i64> = (0..expected).map(|n| 5 + n * 5).collect();
        assert_eq!(offsets, wanted, "within {limit} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_nobody_takes_hold_a_bounded_memory_and_others_are_served() {
    let disks = disks();
    let mut client = Client::start(&disks).await;
    client.create("t", 1).await;
    let id = producer_id(&mut client).await;
    let sent: Vec<Bytes> = (0..10).map(|n| idempotent(id, n * 5, 5)).collect();
    produce_together(&mut client, sent).await;
    let answers = client.node.broker().reads.answers().clone();
    let untaken = client.answer_to_fetch("t", 0).await;
    let held = answers.held();
    assert!(held as usize > untaken.len() / 2, "{held} of {}", untaken.len());
    let all = answers.hold(answers.total() - held).await;
    let (bytes, _) = client.fetch("t", 0, 0).await;
    assert_eq!(batches(&bytes).count(), 10, "lent though it is in memory");
    drop(untaken);
    assert_eq!(answers.held(), all.bytes() as u32);
}
