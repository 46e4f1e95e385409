//! What becomes of fetched bytes.

use bytes::BytesMut;
use tidemill_base::{BaseSequence, ProducerEpoch, ProducerFacts, ProducerId, TimestampMs};
use tidemill_records::{BatchBuilder, Codec, Compressor, HeaderView, NewRecord};

use super::*;
use crate::header::Header;

fn t() -> TopicPartition {
    TopicPartition::new("t", 0)
}

fn plain(codec: Codec, base_offset: i64, values: &[&str]) -> Bytes {
    let mut builder = BatchBuilder::new(codec).placed_at(Offset(base_offset), 3);
    for value in values {
        builder.append_value(TimestampMs(1), None, Some(value.as_bytes())).unwrap();
    }
    builder.finish(&mut Compressor::new()).unwrap()
}

fn transactional(base_offset: i64, producer: i64, value: &str) -> Bytes {
    let mut builder = facts(BatchBuilder::new(Codec::None), producer)
        .transactional()
        .placed_at(Offset(base_offset), 0);
    builder.append_value(TimestampMs(1), None, Some(value.as_bytes())).unwrap();
    builder.finish(&mut Compressor::new()).unwrap()
}

fn marker(base_offset: i64, producer: i64, kind: u8) -> Bytes {
    let mut builder = facts(BatchBuilder::new(Codec::None), producer)
        .transactional()
        .control()
        .placed_at(Offset(base_offset), 0);
    builder.append_value(TimestampMs(1), Some(&[0, 0, 0, kind]), Some(&[0; 6])).unwrap();
    builder.finish(&mut Compressor::new()).unwrap()
}

fn facts(builder: BatchBuilder, producer: i64) -> BatchBuilder {
    builder.producer(ProducerFacts {
        id: ProducerId(producer),
        epoch: ProducerEpoch(0),
        base_sequence: BaseSequence(0),
        transaction: 0,
    })
}

fn buffer(batches: &[Bytes], aborted: &[(i64, i64)]) -> Buffer {
    let mut bytes = BytesMut::new();
    batches.iter().for_each(|batch| bytes.extend_from_slice(batch));
    let aborted = aborted.iter().map(|(producer, first)| (*producer, Offset(*first)));
    let mut buffer = Buffer::default();
    buffer.push(Fetched { bytes: bytes.freeze(), aborted: aborted.collect() });
    buffer
}

fn take(buffer: &mut Buffer, count: usize, position: &mut Offset) -> Vec<(i64, String)> {
    let taken = buffer.take(&t(), count, position, true, &mut Decompressor::new()).unwrap();
    let text = |record: &ConsumerRecord| {
        String::from_utf8(record.value.as_ref().unwrap().to_vec()).unwrap()
    };
    taken.iter().map(|record| (record.offset.0, text(record))).collect()
}

fn pairs(expected: &[(i64, &str)]) -> Vec<(i64, String)> {
    expected.iter().map(|(offset, value)| (*offset, (*value).to_owned())).collect()
}

#[test]
fn records_come_in_order_from_the_position_on_and_move_it() {
    for codec in Codec::ALL {
        let batches = [plain(codec, 10, &["a", "b", "c"]), plain(codec, 13, &["d"])];
        let mut buffer = buffer(&batches, &[]);
        let mut position = Offset(11);
        assert_eq!(take(&mut buffer, 2, &mut position), pairs(&[(11, "b"), (12, "c")]));
        assert_eq!(position, Offset(13));
        assert_eq!(take(&mut buffer, 9, &mut position), pairs(&[(13, "d")]));
        assert_eq!(position, Offset(14));
        assert!(buffer.is_empty());
    }
}

#[test]
fn keys_nulls_and_headers_come_as_they_were_sent() {
    let headers =
        [HeaderView { key: b"h", value: Some(b"1") }, HeaderView { key: b"h", value: None }];
    for codec in [Codec::None, Codec::Zstd] {
        let mut builder = BatchBuilder::new(codec);
        let record = NewRecord {
            timestamp: TimestampMs(77),
            key: Some(b""),
            value: None,
            headers: &headers,
        };
        builder.append(&record).unwrap();
        let bytes = builder.finish(&mut Compressor::new()).unwrap();
        let mut buffer = buffer(&[bytes], &[]);
        let decompressor = &mut Decompressor::new();
        let taken = buffer.take(&t(), 9, &mut Offset(0), true, decompressor).unwrap();
        assert_eq!(taken[0].key, Some(Bytes::new()));
        assert_eq!(taken[0].value, None);
        assert_eq!(taken[0].timestamp, TimestampMs(77));
        assert_eq!(taken[0].leader_epoch, None);
        let null = Header { key: "h".to_owned(), value: None };
        assert_eq!(taken[0].headers, [Header::new("h", "1"), null]);
    }
}

#[test]
fn the_position_passes_records_that_compaction_took_from_the_end_of_a_batch() {
    let mut bytes = BytesMut::from(&plain(Codec::None, 10, &["a"])[..]);
    // The last offset delta says that two more records once followed.
    bytes[23..27].copy_from_slice(&2_i32.to_be_bytes());
    let mut buffer = buffer(&[bytes.freeze()], &[]);
    let mut position = Offset(10);
    let decompressor = &mut Decompressor::new();
    let taken = buffer.take(&t(), 9, &mut position, false, decompressor).unwrap();
    assert_eq!((taken.len(), position), (1, Offset(13)));
}

#[test]
fn a_wrong_checksum_is_corrupt_and_names_the_place_unless_it_is_not_looked_at() {
    let mut bytes = BytesMut::from(&plain(Codec::None, 10, &["value"])[..]);
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    let bytes = bytes.freeze();
    let mut position = Offset(10);
    let decompressor = &mut Decompressor::new();
    let mut checked = buffer(&[plain(Codec::None, 9, &["x"]), bytes.clone()], &[]);
    let error = checked.take(&t(), 9, &mut position, true, decompressor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().starts_with("t-0 at offset 10: "), "{error}");
    assert!(checked.is_empty());
    let mut unchecked = buffer(&[bytes], &[]);
    let taken = unchecked.take(&t(), 9, &mut position, false, decompressor).unwrap();
    assert_eq!(taken.len(), 1);
}

#[test]
fn what_comes_before_a_batch_that_cannot_be_read_is_taken_first() {
    let mut damaged = BytesMut::from(&plain(Codec::None, 2, &["c"])[..]);
    damaged[65] ^= 1;
    let batches = [plain(Codec::None, 0, &["a", "b"]), damaged.freeze()];
    let mut buffer = buffer(&batches, &[]);
    let mut position = Offset(0);
    assert_eq!(take(&mut buffer, 9, &mut position), pairs(&[(0, "a"), (1, "b")]));
    let decompressor = &mut Decompressor::new();
    let error = buffer.take(&t(), 9, &mut position, true, decompressor).unwrap_err();
    assert_eq!((error.kind(), position), (ErrorKind::Corrupt, Offset(2)));
    assert!(buffer.is_empty());
}

#[test]
fn a_batch_that_is_cut_short_is_left_for_the_next_fetch() {
    let whole = plain(Codec::None, 1, &["b"]);
    let cut = whole.slice(..whole.len() - 1);
    let mut buffer = buffer(&[plain(Codec::None, 0, &["a"]), cut], &[]);
    let mut position = Offset(0);
    assert_eq!(take(&mut buffer, 9, &mut position), pairs(&[(0, "a")]));
    assert_eq!(position, Offset(1));
    assert!(buffer.is_empty());
}

#[test]
fn aborted_transactions_and_markers_are_left_out() {
    const ABORT: u8 = 0;
    const COMMIT: u8 = 1;
    let batches = [
        transactional(0, 1, "aborted"),
        transactional(1, 2, "committed"),
        plain(Codec::None, 2, &["plain"]),
        marker(3, 1, ABORT),
        transactional(4, 1, "later"),
        marker(5, 1, COMMIT),
        marker(6, 2, COMMIT),
    ];
    let mut committed = buffer(&batches, &[(1, 0)]);
    let mut position = Offset(0);
    let expected = [(1, "committed"), (2, "plain"), (4, "later")];
    assert_eq!(take(&mut committed, 9, &mut position), pairs(&expected));
    assert_eq!(position, Offset(7));
    let mut uncommitted = buffer(&batches, &[]);
    assert_eq!(take(&mut uncommitted, 9, &mut Offset(0)).len(), 4);
}
