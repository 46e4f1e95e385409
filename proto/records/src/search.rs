//! Finding a record by its timestamp, for ListOffsets. Stops at the record it finds.

use tidemill_base::TimestampMs;

use crate::batch::BatchView;
use crate::decompressor::{DecompressLimits, Decompressor};
use crate::error::RecordsError;
use crate::facts::{Step, walk_records};

/// A record found in a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundRecord {
    /// Its offset less the batch's base offset.
    pub offset_delta: u32,
    /// Its timestamp.
    pub timestamp: TimestampMs,
}

/// The first record, in offset order, whose timestamp is at least `timestamp`. The max timestamp
/// in the header is not trusted, except under LogAppendTime, where it is every record's.
///
/// # Errors
/// Those of [`crate::validate_records`], of the records up to the one found.
pub fn find_timestamp(
    batch: &BatchView<'_>,
    decompressor: &mut Decompressor,
    limits: &DecompressLimits,
    timestamp: TimestampMs,
) -> Result<Option<FoundRecord>, RecordsError> {
    let mut found = None;
    walk_records(batch, decompressor, limits, |record| {
        if record.timestamp < timestamp {
            return Ok(Step::Next);
        }
        let offset_delta = record.offset_delta;
        found = Some(FoundRecord { offset_delta, timestamp: record.timestamp });
        Ok(Step::Stop)
    })?;
    Ok(found)
}

/// The first record, in offset order, that has the batch's largest timestamp; `None` if the batch
/// has no records.
///
/// # Errors
/// Those of [`crate::validate_records`], save that offset deltas may have gaps.
pub fn find_max_timestamp(
    batch: &BatchView<'_>,
    decompressor: &mut Decompressor,
    limits: &DecompressLimits,
) -> Result<Option<FoundRecord>, RecordsError> {
    let mut found: Option<FoundRecord> = None;
    walk_records(batch, decompressor, limits, |record| {
        if found.is_none_or(|found| record.timestamp > found.timestamp) {
            let offset_delta = record.offset_delta;
            found = Some(FoundRecord { offset_delta, timestamp: record.timestamp });
        }
        Ok(Step::Next)
    })?;
    Ok(found)
}
