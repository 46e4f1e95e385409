//! Goal: no input makes this crate panic, lie, or use more memory or time than its limits allow.
//! Method: good batches, damaged on purpose, with checksums made right where the checksum is not
//! the point.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use bytes::{BufMut, Bytes, BytesMut};
use tidemill_base::TimestampMs;
use tidemill_records::header::{CRC_AT, CRC_FROM};
use tidemill_records::{
    AdmissionLimits, Attributes, Batch, BatchBuilder, BatchHeader, BatchView, Codec, Compressor,
    DecompressLimits, Decompressor, FoundRecord, RecordFacts, RecordFault, Records, RecordsError,
    find_max_timestamp, find_timestamp, validate_header, validate_records,
};

const ADMISSION: AdmissionLimits = AdmissionLimits { batch_bytes_max: 1024 * 1024 };

fn batch(codec: Codec, records: u32) -> Bytes {
    let mut builder = BatchBuilder::new(codec);
    for index in 0..records {
        let value = format!("value number {index}").repeat(20);
        let key = format!("key {index}");
        builder
            .append_value(
                TimestampMs(1_000 + i64::from(index)),
                Some(key.as_bytes()),
                Some(value.as_bytes()),
            )
            .unwrap();
    }
    builder.finish(&mut Compressor::new()).unwrap()
}

/// A batch whose payload is `payload`, told of as `records` records, with a right checksum.
fn raw(codec: Codec, records: i32, payload: &[u8]) -> Bytes {
    let header = BatchHeader {
        batch_length: (49 + payload.len()) as i32,
        attributes: Attributes::default().with_codec(codec),
        last_offset_delta: records.wrapping_sub(1),
        record_count: records,
        ..*Batch::parse(batch(Codec::None, 1)).unwrap().header()
    };
    resum([&header.encode()[..], payload].concat())
}

fn resum(mut bytes: Vec<u8>) -> Bytes {
    let crc = crc32c::crc32c(&bytes[CRC_FROM..]);
    bytes[CRC_AT..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
    bytes.into()
}

fn edited(edit: impl FnOnce(&mut BatchHeader)) -> Bytes {
    let bytes = batch(Codec::None, 3);
    let mut header = *Batch::parse(bytes.clone()).unwrap().header();
    edit(&mut header);
    resum([&header.encode()[..], &bytes[61..]].concat())
}

fn admit(bytes: &Bytes) -> Result<RecordFacts, RecordsError> {
    let batch = BatchView::parse(bytes)?;
    validate_header(&batch, &ADMISSION)?;
    validate_records(&batch, &mut Decompressor::new(), &DecompressLimits::default())
}

fn fault(bytes: &Bytes) -> Option<(u32, RecordFault)> {
    match admit(bytes) {
        Err(RecordsError::Record { index, fault }) => Some((index, fault)),
        _ => None,
    }
}

#[test]
fn every_truncation_of_every_codec_is_refused() {
    for codec in Codec::ALL {
        let whole = batch(codec, 20);
        admit(&whole).unwrap();
        for length in 0..whole.len() {
            let cut = whole.slice(..length);
            assert!(matches!(BatchView::parse(&cut), Err(RecordsError::Truncated { .. })));
        }
        for length in 0..whole.len() - 61 {
            let cut = raw(codec, 20, &whole[61..61 + length]);
            assert!(admit(&cut).is_err(), "{codec} payload cut to {length}");
        }
    }
}

#[test]
fn every_flipped_bit_is_seen_by_the_checksum() {
    let whole = batch(Codec::None, 2);
    for byte in CRC_AT..whole.len() {
        let mut bytes = whole.to_vec();
        bytes[byte] ^= 1 << (byte % 8);
        assert!(matches!(admit(&bytes.into()), Err(RecordsError::CrcMismatch { .. })));
    }
}

#[test]
fn bytes_after_the_payload_are_refused() {
    for codec in Codec::ALL {
        let whole = batch(codec, 20);
        let longer = [&whole[61..], &[0]].concat();
        assert!(admit(&raw(codec, 20, &longer)).is_err(), "{codec}");
    }
}

#[test]
fn flipped_bytes_in_compressed_data_never_change_what_is_read() {
    // A flip may land in a field that does not matter (a gzip file time); then nothing changes.
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let whole = batch(codec, 20);
        for at in 61..whole.len() {
            let mut bytes = whole.to_vec();
            bytes[at] ^= 0x55;
            if let Ok(facts) = admit(&resum(bytes)) {
                assert_eq!(facts.record_count, 20);
            }
        }
    }
}

#[test]
fn lying_counts_are_refused() {
    for (records, delta) in [(0, -1), (-1, 2), (3, 3), (i32::MAX, i32::MAX - 1), (4, i32::MIN)] {
        let bytes = edited(|header| {
            header.record_count = records;
            header.last_offset_delta = delta;
        });
        let expected =
            RecordsError::CountInvalid { record_count: records, last_offset_delta: delta };
        assert_eq!(admit(&bytes), Err(expected));
    }
    let payload = &batch(Codec::Gzip, 3)[61..];
    assert_eq!(
        admit(&raw(Codec::Gzip, 4, payload)),
        Err(RecordsError::RecordsMissing { counted: 4, found: 3 })
    );
    assert_eq!(
        admit(&raw(Codec::Gzip, 2, payload)),
        Err(RecordsError::RecordsTrailing { counted: 2 })
    );
    let many = raw(Codec::Zstd, i32::MAX, &batch(Codec::Zstd, 3)[61..]);
    assert!(matches!(admit(&many), Err(RecordsError::RecordsMissing { found: 3, .. })));
}

#[test]
fn flags_and_producers_that_clients_may_not_send_are_refused() {
    let attributes = |bits| edited(|header| header.attributes = Attributes(bits));
    assert_eq!(admit(&attributes(5)), Err(RecordsError::UnknownCodec { id: 5 }));
    assert_eq!(admit(&attributes(1 << 3)), Err(RecordsError::TimestampTypeFromClient));
    assert_eq!(admit(&attributes(1 << 4)), Err(RecordsError::TransactionWithoutProducer));
    assert_eq!(admit(&attributes(1 << 5)), Err(RecordsError::ControlFromClient));
    assert_eq!(admit(&attributes(1 << 6)), Err(RecordsError::DeleteHorizonFromClient));
    for (id, epoch, sequence) in [(7, 0, -1), (7, -1, 0), (-2, 0, 0)] {
        let bytes = edited(|header| {
            header.producer_id = id;
            header.producer_epoch = epoch;
            header.base_sequence = sequence;
        });
        assert!(matches!(admit(&bytes), Err(RecordsError::ProducerInvalid { .. })));
    }
    // Without a producer id the rest may be anything, as some clients send it.
    admit(&edited(|header| header.producer_epoch = 0)).unwrap();
}

#[test]
fn batches_over_the_limit_are_told_so_before_their_bytes_are_read() {
    let bytes = batch(Codec::None, 3);
    let limits = AdmissionLimits { batch_bytes_max: bytes.len() as u32 - 1 };
    let refused = validate_header(&BatchView::parse(&bytes).unwrap(), &limits);
    assert!(matches!(refused, Err(RecordsError::TooLarge { .. })));
}

/// One record: its length as `length`, then `body`.
fn record(length: i64, body: &[u8]) -> Bytes {
    let mut payload = BytesMut::new();
    put_varint(&mut payload, length);
    payload.put_slice(body);
    raw(Codec::None, 1, &payload)
}

fn put_varint(out: &mut BytesMut, value: i64) {
    let mut raw = (value << 1 ^ value >> 63) as u64;
    while raw >= 0x80 {
        out.put_u8(raw as u8 | 0x80);
        raw >>= 7;
    }
    out.put_u8(raw as u8);
}

#[test]
fn malformed_records_are_told_apart() {
    // attributes, timestamp delta, offset delta, null key, null value, no headers
    let good = [0, 0, 0, 1, 1, 0];
    assert_eq!(admit(&record(6, &good)).unwrap().keyless_at, Some(0));
    let found = |length, body: &[u8]| fault(&record(length, body)).unwrap().1;
    assert_eq!(found(-1, &good), RecordFault::LengthNegative);
    assert_eq!(found(5, &good), RecordFault::Overrun);
    assert_eq!(found(7, &good), RecordFault::Leftover);
    assert_eq!(found(9, &[0, 0, 0, 1, 40, 0, 0, 0, 0]), RecordFault::Overrun);
    assert_eq!(found(6, &[0, 0, 0, 3, 1, 0]), RecordFault::LengthNegative);
    assert_eq!(found(6, &[0, 0, 0, 1, 1, 1]), RecordFault::LengthNegative);
    assert_eq!(found(8, &[0, 0, 0, 1, 1, 2, 1, 1]), RecordFault::LengthNegative);
    assert_eq!(found(6, &[0, 0, 0, 1, 1, 2]), RecordFault::Overrun);
    assert_eq!(found(6, &[0, 0, 2, 1, 1, 0]), RecordFault::OffsetDelta);
    assert_eq!(found(6, &[0, 0, 1, 1, 1, 0]), RecordFault::OffsetDelta);
    let overlong = [&[0][..], &[0xff; 11], &[0, 1, 1, 0]].concat();
    assert_eq!(found(16, &overlong), RecordFault::VarintTooLong);
    let far = [&[0][..], &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], &[0, 1, 1, 0]]
        .concat();
    assert_eq!(found(15, &far), RecordFault::TimestampOverflow);
}

#[test]
fn a_huge_header_count_costs_nothing() {
    let body = [&[0, 0, 0, 1, 1][..], &[0xfe, 0xff, 0xff, 0xff, 0x0f]].concat();
    assert_eq!(fault(&record(10, &body)), Some((0, RecordFault::Overrun)));
}

/// What `codec` makes of `bytes` zeros: the densest bomb that is easily had.
fn bomb(codec: Codec, bytes: usize) -> Bytes {
    let mut out = BytesMut::new();
    Compressor::new().compress(codec, &vec![0; bytes], &mut out).unwrap();
    raw(codec, 1_000, &out)
}

#[test]
fn bombs_stop_at_the_limit() {
    let limits = DecompressLimits {
        output_bytes_max: 1024 * 1024,
        ratio_max: 1_000_000,
        output_bytes_free: 1024,
        zstd_window_log_max: 21,
    };
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let bytes = bomb(codec, 32 * 1024 * 1024);
        let view = BatchView::parse(&bytes).unwrap();
        let mut decompressor = Decompressor::new();
        let opened = Records::open(view, &mut decompressor, &limits);
        assert!(matches!(
            opened.map(drop),
            Err(RecordsError::OutputTooLarge { bytes_max: 1_048_576, .. })
        ));
        // The decompressor is as good as new afterwards.
        let good = batch(codec, 10);
        let good = BatchView::parse(&good).unwrap();
        assert_eq!(Records::open(good, &mut decompressor, &limits).unwrap().iter().count(), 10);
    }
}

#[test]
fn small_batches_may_not_grow_without_bound() {
    let limits = DecompressLimits { ratio_max: 10, output_bytes_free: 5_000, ..Default::default() };
    assert_eq!(limits.output_bytes_for(100), 5_000);
    assert_eq!(limits.output_bytes_for(1_000), 10_000);
    assert_eq!(limits.output_bytes_for(usize::MAX), limits.output_bytes_max);
    let bytes = bomb(Codec::Zstd, 100_000);
    let opened = Decompressor::new().decompress(Codec::Zstd, &bytes[61..], &limits).map(drop);
    assert_eq!(opened, Err(RecordsError::OutputTooLarge { codec: Codec::Zstd, bytes_max: 5_000 }));
}

#[test]
fn a_snappy_block_cannot_claim_what_it_cannot_hold() {
    // A raw block that claims 32 MiB in four bytes of length and holds one literal.
    let block = [0x80, 0x80, 0x80, 0x10, 0, b'x'];
    let limits = DecompressLimits::default();
    let refused = Decompressor::new().decompress(Codec::Snappy, &block, &limits).map(drop);
    assert!(matches!(refused, Err(RecordsError::Decompress { .. })));
}

#[test]
fn a_zstd_window_over_the_limit_is_refused() {
    // A frame header: magic, no single segment, a window of 2^27, then an empty last block.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0, (27 - 10) << 3, 1, 0, 0];
    let limits = DecompressLimits::default();
    let refused = Decompressor::new().decompress(Codec::Zstd, &frame, &limits).map(drop);
    assert!(matches!(refused, Err(RecordsError::Decompress { .. })));
    let limits = DecompressLimits { zstd_window_log_max: 27, ..limits };
    assert_eq!(Decompressor::new().decompress(Codec::Zstd, &frame, &limits), Ok(&[][..]));
}

#[test]
fn codecs_are_not_mixed_up() {
    for written in Codec::ALL {
        for read in Codec::ALL.into_iter().filter(|read| *read != written) {
            let bytes = raw(read, 20, &batch(written, 20)[61..]);
            assert!(admit(&bytes).is_err(), "{written} read as {read}");
        }
    }
}

#[test]
fn linked_lz4_blocks_are_refused() {
    use std::io::Write;
    let info = lz4_flex::frame::FrameInfo::new().block_mode(lz4_flex::frame::BlockMode::Linked);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(&[7; 1_000]).unwrap();
    let frame = encoder.finish().unwrap();
    let limits = DecompressLimits::default();
    let refused = Decompressor::new().decompress(Codec::Lz4, &frame, &limits).map(drop);
    assert!(matches!(refused, Err(RecordsError::Decompress { .. })));
}

#[test]
fn lz4_frames_with_all_checksums_and_sizes_are_read() {
    use std::io::Write;
    let data: Vec<u8> = (0..200_000_u32).flat_map(|number| (number % 77).to_le_bytes()).collect();
    let info = lz4_flex::frame::FrameInfo::new()
        .block_checksums(true)
        .content_checksum(true)
        .content_size(Some(data.len() as u64));
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(&data).unwrap();
    let mut frame = encoder.finish().unwrap();
    let limits = DecompressLimits::default();
    assert_eq!(Decompressor::new().decompress(Codec::Lz4, &frame, &limits), Ok(&data[..]));
    let middle = frame.len() / 2;
    frame[middle] ^= 1;
    assert!(Decompressor::new().decompress(Codec::Lz4, &frame, &limits).is_err());
}

#[test]
fn gzip_members_follow_one_another_and_optional_fields_are_passed() {
    let mut out = BytesMut::new();
    Compressor::new().compress(Codec::Gzip, b"one ", &mut out).unwrap();
    let plain = out.len();
    Compressor::new().compress(Codec::Gzip, b"two", &mut out).unwrap();
    let limits = DecompressLimits::default();
    let mut decompressor = Decompressor::new();
    assert_eq!(decompressor.decompress(Codec::Gzip, &out, &limits), Ok(&b"one two"[..]));
    // Extra field, name, comment and header checksum, then the first member's data.
    let mut named = vec![0x1f, 0x8b, 8, 0b1_1110, 0, 0, 0, 0, 0, 3];
    named.extend_from_slice(&[2, 0, 9, 9]);
    named.extend_from_slice(b"name\0comment\0");
    named.extend_from_slice(&[0, 0]);
    named.extend_from_slice(&out[10..plain]);
    assert_eq!(decompressor.decompress(Codec::Gzip, &named, &limits), Ok(&b"one "[..]));
    let last = named.len() - 1;
    named[last] ^= 1;
    assert!(decompressor.decompress(Codec::Gzip, &named, &limits).is_err());
}

#[test]
fn raw_snappy_of_librdkafka_is_read() {
    let payload = &batch(Codec::None, 50)[61..];
    let raw_block = snap::raw::Encoder::new().compress_vec(payload).unwrap();
    assert_eq!(admit(&raw(Codec::Snappy, 50, &raw_block)).unwrap().record_count, 50);
}

#[test]
fn searching_goes_by_offset_order_and_stops_in_time() {
    for codec in Codec::ALL {
        let mut builder = BatchBuilder::new(codec);
        for timestamp in [50, 10, 70, 30, 70] {
            builder.append_value(TimestampMs(timestamp), None, Some(&[1; 30_000])).unwrap();
        }
        let bytes = builder.finish(&mut Compressor::new()).unwrap();
        let view = BatchView::parse(&bytes).unwrap();
        let limits = DecompressLimits::default();
        let mut decompressor = Decompressor::new();
        let mut find = |timestamp| {
            find_timestamp(&view, &mut decompressor, &limits, TimestampMs(timestamp))
                .unwrap()
                .map(|found| (found.offset_delta, found.timestamp.0))
        };
        assert_eq!(find(0), Some((0, 50)));
        assert_eq!(find(50), Some((0, 50)));
        assert_eq!(find(51), Some((2, 70)));
        assert_eq!(find(71), None);
        let largest = find_max_timestamp(&view, &mut decompressor, &limits).unwrap();
        assert_eq!(largest, Some(FoundRecord { offset_delta: 2, timestamp: TimestampMs(70) }));
        let facts = validate_records(&view, &mut decompressor, &limits).unwrap();
        assert_eq!((facts.min_timestamp.0, facts.max_timestamp_offset_delta), (10, 2));
    }
}

#[test]
fn under_log_append_time_every_record_has_the_batchs_time() {
    let mut bytes = batch(Codec::Lz4, 3).to_vec();
    tidemill_records::stamp_log_append_time(&mut bytes, TimestampMs(77)).unwrap();
    let view = BatchView::parse(&bytes).unwrap();
    let limits = DecompressLimits::default();
    let mut decompressor = Decompressor::new();
    let facts = validate_records(&view, &mut decompressor, &limits).unwrap();
    assert_eq!((facts.min_timestamp.0, facts.max_timestamp.0), (77, 77));
    let records = Records::open(view, &mut decompressor, &limits).unwrap();
    assert!(records.iter().all(|record| record.unwrap().timestamp.0 == 77));
}

#[test]
fn a_misreported_max_timestamp_is_not_believed() {
    let bytes = edited(|header| header.max_timestamp = TimestampMs(5));
    assert_eq!(admit(&bytes).unwrap().max_timestamp, TimestampMs(1_002));
}
