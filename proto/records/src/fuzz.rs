//! The fuzz target of batches: a plain function that must neither panic nor loop.

use bytes::Bytes;
use tidemill_base::TimestampMs;

use crate::batch::BatchView;
use crate::decompressor::{DecompressLimits, Decompressor};
use crate::facts::validate_records;
use crate::header::{
    BATCH_HEADER_BYTES, CRC_AT, CRC_FROM, LENGTH_PREFIX_BYTES, MAGIC_AT, MAGIC_V2,
};
use crate::records::Records;
use crate::search::{find_max_timestamp, find_timestamp};
use crate::split::batches;
use crate::stamp::stamp_log_append_time;
use crate::validate::{AdmissionLimits, validate_header};

const LIMITS: DecompressLimits = DecompressLimits {
    output_bytes_max: 1024 * 1024,
    ratio_max: 256,
    output_bytes_free: 64 * 1024,
    zstd_window_log_max: 20,
};
const ADMISSION: AdmissionLimits = AdmissionLimits { batch_bytes_max: 1024 * 1024 };

/// Reads `data` as batches in every way there is: as it is, and once more as a single batch with
/// its magic, length and checksum made right, so that mutations reach what lies behind them.
///
/// # Panics
/// If two ways of reading the same batch disagree.
pub fn fuzz_batch(data: &[u8]) {
    let mut decompressor = Decompressor::new();
    for batch in batches(&Bytes::copy_from_slice(data)).flatten() {
        exercise(&batch.view(), &mut decompressor);
    }
    if let Some(repaired) = repair(data)
        && let Ok(batch) = BatchView::parse(&repaired)
    {
        batch.verify_crc().expect("the checksum was just made right");
        exercise(&batch, &mut decompressor);
    }
}

fn repair(data: &[u8]) -> Option<Vec<u8>> {
    if data.len() < BATCH_HEADER_BYTES {
        return None;
    }
    let mut bytes = data.to_vec();
    let length = i32::try_from(bytes.len() - LENGTH_PREFIX_BYTES).ok()?;
    bytes[8..LENGTH_PREFIX_BYTES].copy_from_slice(&length.to_be_bytes());
    bytes[MAGIC_AT] = MAGIC_V2 as u8;
    let crc = crc32c::crc32c(&bytes[CRC_FROM..]);
    bytes[CRC_AT..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
    Some(bytes)
}

fn exercise(batch: &BatchView<'_>, decompressor: &mut Decompressor) {
    let admitted = validate_header(batch, &ADMISSION).is_ok();
    let facts = validate_records(batch, decompressor, &LIMITS);
    let largest = find_max_timestamp(batch, decompressor, &LIMITS);
    let _ = find_timestamp(batch, decompressor, &LIMITS, TimestampMs(0));
    let header = *batch.header();
    let read = Records::open(*batch, decompressor, &LIMITS).and_then(|records| {
        let mut count = 0_u32;
        for record in &records {
            let record = record?;
            assert_eq!(record.headers.count(), record.headers.count_left());
            count += 1;
        }
        Ok(count)
    });
    if let Ok(facts) = facts {
        assert_eq!(read, Ok(facts.record_count), "iterating disagrees with validating");
        assert_eq!(facts.record_count, header.counted());
        let largest = largest.ok().flatten().expect("a valid batch has a largest timestamp");
        assert_eq!(largest.timestamp, facts.max_timestamp);
        assert_eq!(largest.offset_delta, facts.max_timestamp_offset_delta);
    }
    if admitted {
        let mut bytes = batch.bytes().to_vec();
        stamp_log_append_time(&mut bytes, TimestampMs(1)).expect("an admitted batch is stamped");
        let stamped = BatchView::parse(&bytes).expect("a stamped batch is a batch");
        stamped.verify_crc().expect("a stamped batch has a right checksum");
    }
}
