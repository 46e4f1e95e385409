//! The header and directory of an index object.
//!
//! ```text
//!  0 magic "TMIX"
//!  4 version u16, reserved u16
//!  8 object id (24 bytes, as in a log object's header from 8)
//! 32 file id: incarnation u32, broker i32, epoch u32, lane u16, reserved u16, number u32,
//!    sequence u64
//! 60 run count u32
//! 64 object length u32
//! 68 CRC-32C u32 of 0..68 and the directory
//! ```

use bytes::BufMut;
use tidemill_base::{FileId, ObjectId, Offset, PartitionId};

use super::run::IndexRun;
use super::{
    CRC_AT, DIRECTORY_ENTRY_BYTES, FIXED_HEADER_BYTES, INDEX_OBJECT_MAGIC, INDEX_OBJECT_VERSION,
    NAME,
};
use crate::error::FormatError;
use crate::fields::{
    FILE_ID_BYTES, FieldReader, OBJECT_ID_BYTES, check_beginning, check_sum, prefix, put_beginning,
    put_file_id, put_object_id,
};

const _: () = assert!(FIXED_HEADER_BYTES == 8 + OBJECT_ID_BYTES + FILE_ID_BYTES + 12);

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
