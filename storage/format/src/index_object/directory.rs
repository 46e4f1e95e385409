//! The header and directory of an index object.
//!
//! ```text
//! header                                   directory entry
//!  0 magic "TMIX"                           0 partition u32
//!  4 version u16, reserved u16              4 extent count u32
//!  8 object id (24 bytes, as in a log       8 block position u32
//!    object's header from 8)               12 bytes of the extents u32
//! 32 file id: incarnation u32, broker      16 first offset i64
//!    i32, epoch u32, lane u16,             24 end offset i64
//!    reserved u16, number u32,             32 max timestamp i64
//!    sequence u64                          40 digest u64
//! 60 run count u32
//! 64 object length u32
//! 68 CRC-32C u32 of 0..68 and the directory
//! ```

use std::ops::Range;

use bytes::BufMut;
use tidemill_base::{ExtentDigest, FileId, ObjectId, Offset, PartitionId, TimestampMs};

use super::{
    BLOCK_CRC_BYTES, CRC_AT, DIRECTORY_ENTRY_BYTES, EXTENT_BYTES, FIXED_HEADER_BYTES,
    INDEX_OBJECT_MAGIC, INDEX_OBJECT_VERSION, NAME,
};
use crate::error::FormatError;
use crate::fields::{
    FILE_ID_BYTES, FieldReader, OBJECT_ID_BYTES, check_beginning, check_sum, prefix, put_beginning,
    put_file_id, put_object_id,
};

const _: () = assert!(FIXED_HEADER_BYTES == 8 + OBJECT_ID_BYTES + FILE_ID_BYTES + 12);

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

    fn take(fields: &mut FieldReader<'_>) -> Result<Self, FormatError> {
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
    fn check(&self, before: Option<&Self>) -> Result<(), FormatError> {
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

/// The header and directory of an index object, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexDirectory {
    /// Which object it is.
    pub object: ObjectId,
    /// The file whose extents it lists.
    pub file: FileId,
    /// The bytes of the whole object.
    pub length: u32,
    /// The runs, sorted by partition and first offset.
    pub runs: Vec<IndexRun>,
}

struct FixedHeader {
    object: ObjectId,
    file: FileId,
    run_count: u32,
    length: u32,
    crc: u32,
}

impl IndexDirectory {
    /// How many bytes header and directory take, told by the first [`FIXED_HEADER_BYTES`] of the
    /// object; never more than the object's own length, but not yet checked by the sum.
    ///
    /// # Errors
    /// [`FormatError::Truncated`], [`FormatError::WrongMagic`],
    /// [`FormatError::UnsupportedVersion`], [`FormatError::Inconsistent`].
    pub fn bytes_needed(beginning: &[u8]) -> Result<u32, FormatError> {
        FixedHeader::read(beginning)?.directory_end()
    }

    /// Reads the header and directory at the beginning of `bytes`; what follows is not looked at.
    ///
    /// # Errors
    /// Those of [`Self::bytes_needed`], and [`FormatError::ChecksumMismatch`].
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let fixed = FixedHeader::read(bytes)?;
        let directory_end = fixed.directory_end()?;
        let header = prefix(bytes, u64::from(directory_end))?;
        check_sum("an index object's directory", fixed.crc, checksum(header))?;
        let mut fields = FieldReader::new(&header[FIXED_HEADER_BYTES..]);
        let mut runs: Vec<IndexRun> = Vec::with_capacity(fixed.run_count as usize);
        let mut position = u64::from(directory_end);
        for _ in 0..fixed.run_count {
            let run = IndexRun::take(&mut fields)?;
            run.check(runs.last())?;
            if u64::from(run.block_position) != position {
                return Err(FormatError::Inconsistent { what: "a block does not follow" });
            }
            position = run.block_range().end;
            runs.push(run);
        }
        if position != u64::from(fixed.length) {
            return Err(FormatError::Inconsistent {
                what: "the blocks do not end with the object",
            });
        }
        Ok(Self { object: fixed.object, file: fixed.file, length: fixed.length, runs })
    }

    /// The runs of a partition, by first offset.
    #[must_use]
    pub fn runs_of(&self, partition: PartitionId) -> &[IndexRun] {
        let begin = self.runs.partition_point(|run| run.partition < partition);
        let end = self.runs.partition_point(|run| run.partition <= partition);
        &self.runs[begin..end]
    }

    /// The run that holds `offset` of a partition.
    #[must_use]
    pub fn find(&self, partition: PartitionId, offset: Offset) -> Option<&IndexRun> {
        let runs = self.runs_of(partition);
        let at = runs.partition_point(|run| run.end_offset <= offset);
        runs.get(at).filter(|run| run.first_offset <= offset)
    }

    /// Header and directory as bytes; the object's blocks follow.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(FIXED_HEADER_BYTES + self.runs.len() * DIRECTORY_ENTRY_BYTES);
        put_beginning(&mut out, INDEX_OBJECT_MAGIC, INDEX_OBJECT_VERSION);
        put_object_id(&mut out, &self.object);
        put_file_id(&mut out, &self.file);
        out.put_u32_le(self.runs.len() as u32);
        out.put_u32_le(self.length);
        out.put_u32_le(0);
        for run in &self.runs {
            run.put(&mut out);
        }
        let crc = checksum(&out);
        out[CRC_AT..FIXED_HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Whether the runs stand in order and do not overlap.
    pub(super) fn check_order(runs: &[IndexRun]) -> Result<(), FormatError> {
        let mut before = None;
        for run in runs {
            run.check(before)?;
            before = Some(run);
        }
        Ok(())
    }
}

impl FixedHeader {
    fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut fields = FieldReader::new(prefix(bytes, FIXED_HEADER_BYTES as u64)?);
        check_beginning(&mut fields, INDEX_OBJECT_MAGIC, NAME, INDEX_OBJECT_VERSION)?;
        let (object, file) = (fields.object_id()?, fields.file_id()?);
        let (run_count, length, crc) = (fields.u32()?, fields.u32()?, fields.u32()?);
        Ok(Self { object, file, run_count, length, crc })
    }

    fn directory_end(&self) -> Result<u32, FormatError> {
        (self.run_count as usize)
            .checked_mul(DIRECTORY_ENTRY_BYTES)
            .and_then(|directory| directory.checked_add(FIXED_HEADER_BYTES))
            .and_then(|bytes| u32::try_from(bytes).ok())
            .filter(|bytes| *bytes <= self.length)
            .ok_or(FormatError::Inconsistent { what: "the directory is longer than the object" })
    }
}

/// The sum of a header with its directory, the place of the sum itself left out.
fn checksum(header: &[u8]) -> u32 {
    let before = crc32c::crc32c(&header[..CRC_AT]);
    crc32c::crc32c_append(before, &header[FIXED_HEADER_BYTES..])
}
