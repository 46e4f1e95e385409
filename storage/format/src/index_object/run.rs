//! A directory entry of an index object: one run, and where its block lies.
//!
//! ```text
//!  0 partition u32         16 first offset i64
//!  4 extent count u32      24 end offset i64
//!  8 block position u32    32 max timestamp i64
//! 12 extent bytes u32      40 digest u64
//! ```

use std::ops::Range;

use bytes::BufMut;
use tidemill_base::{ExtentDigest, Offset, PartitionId, TimestampMs};

use super::{BLOCK_CRC_BYTES, EXTENT_BYTES};
use crate::error::FormatError;
use crate::fields::FieldReader;

/// A directory entry: one run, and where its block lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexRun {
    /// The partition.
    pub partition: PartitionId,
    /// How many extents; at least 1.
    pub extents: u32,
    /// The block's first byte, counted from the object's first byte.
    pub block_position: u32,
    /// How many bytes of the file the extents take together.
    pub extent_bytes: u32,
    /// The offset of the first record.
    pub first_offset: Offset,
    /// The offset after the last record; at most `u32::MAX` above the first.
    pub end_offset: Offset,
    /// The largest timestamp.
    pub max_timestamp: TimestampMs,
    /// The digest of the extents in order.
    pub digest: ExtentDigest,
}

impl IndexRun {
    /// The bytes of its block.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.extents) * EXTENT_BYTES as u64 + BLOCK_CRC_BYTES as u64
    }

    /// Where its block lies in the object.
    #[must_use]
    pub fn block_range(&self) -> Range<u64> {
        let begin = u64::from(self.block_position);
        begin..begin + self.block_bytes()
    }

    /// How many offsets it takes.
    #[must_use]
    pub fn record_count(&self) -> u32 {
        u32::try_from(self.end_offset.0.saturating_sub(self.first_offset.0)).unwrap_or(u32::MAX)
    }

    pub(super) fn put(&self, out: &mut impl BufMut) {
        out.put_u32_le(self.partition.0);
        out.put_u32_le(self.extents);
        out.put_u32_le(self.block_position);
        out.put_u32_le(self.extent_bytes);
        out.put_i64_le(self.first_offset.0);
        out.put_i64_le(self.end_offset.0);
        out.put_i64_le(self.max_timestamp.0);
        out.put_u64_le(self.digest.0);
    }

    pub(super) fn take(fields: &mut FieldReader<'_>) -> Result<Self, FormatError> {
        Ok(Self {
            partition: PartitionId(fields.u32()?),
            extents: fields.u32()?,
            block_position: fields.u32()?,
            extent_bytes: fields.u32()?,
            first_offset: Offset(fields.i64()?),
            end_offset: Offset(fields.i64()?),
            max_timestamp: TimestampMs(fields.i64()?),
            digest: ExtentDigest(fields.u64()?),
        })
    }

    /// Whether the run could be one, and stands after `before`.
    pub(super) fn check(&self, before: Option<&Self>) -> Result<(), FormatError> {
        let records = i128::from(self.end_offset.0) - i128::from(self.first_offset.0);
        if self.extents == 0 || records < i128::from(self.extents) || records > u32::MAX.into() {
            return Err(FormatError::Inconsistent { what: "a run's counts cannot be" });
        }
        let follows = before.is_none_or(|before| {
            (before.partition, before.end_offset) <= (self.partition, self.first_offset)
        });
        if follows {
            Ok(())
        } else {
            Err(FormatError::Inconsistent { what: "a run does not stand in its place" })
        }
    }
}
