//! What is admitted, what is refused, and with which code.

use super::*;
use tidemill_base::Offset;
use tidemill_records::{BatchBuilder, Codec, Compressor, Decompressor, NewRecord};

const NOW: TimestampMs = TimestampMs(1_000_000);

fn policy() -> TopicPolicy {
    TopicPolicy {
        batch_bytes_max: 10_000,
        log_append_time: false,
        timestamp_before_max_ms: i64::MAX,
        timestamp_after_max_ms: 3_600_000,
        validate_records: true,
    }
}

fn batch(timestamps: &[i64], codec: Codec) -> BatchBuilder {
    let mut builder = BatchBuilder::new(codec);
    for timestamp in timestamps {
        builder
            .append(&NewRecord {
                timestamp: TimestampMs(*timestamp),
                key: None,
                value: Some(b"value"),
                headers: &[],
            })
            .unwrap();
    }
    builder
}

fn bytes(timestamps: &[i64], codec: Codec) -> Bytes {
    batch(timestamps, codec).finish(&mut Compressor::default()).unwrap()
}

fn admit_anywhere(
    partition: PartitionId,
    records: &Bytes,
    policy: &TopicPolicy,
    now: TimestampMs,
) -> Result<(BatchFacts, Bytes), Refused> {
    let mut decompressor = Decompressor::new();
    admit(partition, records, policy, now, &mut Unpacking::unlimited(&mut decompressor))
}

fn refusal(records: &Bytes, policy: &TopicPolicy) -> ErrorCode {
    admit_anywhere(PartitionId(1), records, policy, NOW).unwrap_err().code()
}

#[test]
fn a_good_batch_passes_unchanged_with_its_facts() {
    for codec in [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let records = bytes(&[5, 900, 7], codec);
        let (facts, stored) = admit_anywhere(PartitionId(9), &records, &policy(), NOW).unwrap();
        assert_eq!(stored, records);
        assert_eq!(facts.partition, PartitionId(9));
        assert_eq!(facts.record_count, 3);
        assert_eq!(facts.max_timestamp, TimestampMs(900));
        assert_eq!(facts.length as usize, records.len());
        assert_eq!(facts.producer, None);
    }
}

#[test]
fn damage_is_told_apart_from_bad_batches() {
    let good = bytes(&[1, 2], Codec::None);
    let mut flipped = good.to_vec();
    *flipped.last_mut().unwrap() ^= 1;
    assert_eq!(refusal(&flipped.into(), &policy()), ErrorCode::CORRUPT_MESSAGE);
    assert_eq!(refusal(&good.slice(..good.len() - 1), &policy()), ErrorCode::CORRUPT_MESSAGE);
    let mut two = good.to_vec();
    two.extend_from_slice(&good);
    assert_eq!(refusal(&two.into(), &policy()), ErrorCode::INVALID_RECORD);
    let mut old = good.to_vec();
    old[16] = 1;
    assert_eq!(refusal(&old.into(), &policy()), ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT);
    let small = TopicPolicy { batch_bytes_max: 20, ..policy() };
    assert_eq!(refusal(&good, &small), ErrorCode::MESSAGE_TOO_LARGE);
    let control = batch(&[1], Codec::None).control();
    let control = control.finish(&mut Compressor::default()).unwrap();
    assert_eq!(refusal(&control, &policy()), ErrorCode::INVALID_RECORD);
}

#[test]
fn timestamps_must_be_near_the_clock_as_the_topic_says() {
    let policy = TopicPolicy { timestamp_before_max_ms: 1000, ..policy() };
    let edge = [NOW.0 - 1000, NOW.0 + 3_600_000];
    admit_anywhere(PartitionId(1), &bytes(&edge, Codec::None), &policy, NOW).unwrap();
    for wrong in [[NOW.0 - 1001, NOW.0], [NOW.0, NOW.0 + 3_600_001]] {
        assert_eq!(refusal(&bytes(&wrong, Codec::None), &policy), ErrorCode::INVALID_TIMESTAMP);
    }
    admit_anywhere(PartitionId(1), &bytes(&[-1], Codec::None), &policy, NOW).unwrap();
}

#[test]
fn log_append_time_is_written_by_the_broker() {
    let policy = TopicPolicy { log_append_time: true, ..policy() };
    let records = bytes(&[5, 6], Codec::None);
    let (facts, stored) = admit_anywhere(PartitionId(1), &records, &policy, NOW).unwrap();
    assert_eq!(facts.max_timestamp, NOW);
    let stored = BatchView::parse(&stored).unwrap();
    stored.verify_crc().unwrap();
    assert_eq!(stored.header().max_timestamp, NOW);
    assert_eq!(stored.header().base_offset, Offset(0));
}

/// A batch of zeros: it shrinks to nearly nothing.
fn zeros(codec: Codec, bytes: usize) -> Bytes {
    let mut builder = BatchBuilder::new(codec);
    builder.append_value(TimestampMs(5), None, Some(&vec![0; bytes])).unwrap();
    builder.finish(&mut Compressor::default()).unwrap()
}

#[test]
fn what_would_unpack_to_more_than_is_allowed_here_is_judged_elsewhere() {
    let policy = TopicPolicy { batch_bytes_max: 1 << 20, ..policy() };
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let records = zeros(codec, 300_000);
        let mut decompressor = Decompressor::new();
        let mut judge = |bytes| {
            let mut here = Unpacking::at_most(&mut decompressor, bytes);
            admit(PartitionId(1), &records, &policy, NOW, &mut here).map(|_| ())
        };
        assert_eq!(judge(299_999), Err(Refused::NotHere), "{codec:?}");
        assert_eq!(judge(310_000), Ok(()), "{codec:?}");
        assert!(admit_anywhere(PartitionId(1), &records, &policy, NOW).is_ok());
    }
}

#[test]
fn what_is_allowed_here_is_for_all_batches_together() {
    let policy = TopicPolicy { batch_bytes_max: 1 << 20, ..policy() };
    let judged = |records: &Bytes, bytes| {
        let mut decompressor = Decompressor::new();
        let mut here = Unpacking::at_most(&mut decompressor, bytes);
        (0..1000)
            .take_while(|_| admit(PartitionId(1), records, &policy, NOW, &mut here).is_ok())
            .count()
    };
    assert_eq!(judged(&zeros(Codec::Zstd, 100_000), 250_000), 2);
    // However small they are, setting up the decoder takes time; also if they are refused.
    assert_eq!(judged(&zeros(Codec::Zstd, 1), 10 * 1024), 10);
    // What is not compressed is judged anywhere.
    assert_eq!(judged(&zeros(Codec::None, 100_000), 0), 1000);
}
