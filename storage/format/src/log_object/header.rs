//! Reading the header and index of a log object.
//!
//! ```text
//!  0 magic "TMLO"           20 lane u16             36 object length u32
//!  4 version u16            22 reserved u16         40 CRC-32C u32 of 0..40 and the index
//!  6 reserved u16           24 sequence u64         44 index
//!  8 incarnation u32        32 batch count u32
//! 12 broker i32
//! 16 broker epoch u32
//! ```

use std::collections::BTreeSet;

use tidemill_base::{BatchFacts, ObjectId};

use super::builder::checksum;
use super::{
    FIXED_HEADER_BYTES, INDEX_ENTRY_BYTES, LOG_OBJECT_MAGIC, LOG_OBJECT_VERSION, NAME, entry,
};
use crate::error::FormatError;
use crate::fields::{FieldReader, check_beginning, check_sum, prefix};

/// The header and index of a log object, checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogObjectHeader {
    /// Which object it is.
    pub id: ObjectId,
    /// The bytes of the whole object.
    pub length: u32,
    /// Its batches in order; their positions tile the object behind the index.
    pub facts: Vec<BatchFacts>,
}

/// The fixed part, not yet summed.
struct FixedHeader {
    id: ObjectId,
    batch_count: u32,
    length: u32,
    crc: u32,
}

impl LogObjectHeader {
    /// How many bytes header and index take, told by the first [`FIXED_HEADER_BYTES`] of the object;
    /// never more than the object's own length, but not yet checked by the sum.
    ///
    /// # Errors
    /// [`FormatError::Truncated`], [`FormatError::WrongMagic`],
    /// [`FormatError::UnsupportedVersion`], [`FormatError::Inconsistent`].
    pub fn bytes_needed(beginning: &[u8]) -> Result<u32, FormatError> {
        FixedHeader::read(beginning)?.header_bytes()
    }

    /// Reads the header and index at the beginning of `bytes`; what follows is not looked at.
    ///
    /// # Errors
    /// Those of [`Self::bytes_needed`], and [`FormatError::ChecksumMismatch`].
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let fixed = FixedHeader::read(bytes)?;
        let header_bytes = fixed.header_bytes()?;
        let header = prefix(bytes, u64::from(header_bytes))?;
        check_sum("a log object's header", fixed.crc, checksum(header))?;
        let mut fields = FieldReader::new(&header[FIXED_HEADER_BYTES..]);
        let mut facts = Vec::with_capacity(fixed.batch_count as usize);
        for _ in 0..fixed.batch_count {
            facts.push(entry::take(&mut fields)?);
        }
        check_tiling(&facts, header_bytes, fixed.length)?;
        check_grouping(&facts)?;
        Ok(Self { id: fixed.id, length: fixed.length, facts })
    }
}

impl FixedHeader {
    fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut fields = FieldReader::new(prefix(bytes, FIXED_HEADER_BYTES as u64)?);
        check_beginning(&mut fields, LOG_OBJECT_MAGIC, NAME, LOG_OBJECT_VERSION)?;
        let id = fields.object_id()?;
        let (batch_count, length, crc) = (fields.u32()?, fields.u32()?, fields.u32()?);
        Ok(Self { id, batch_count, length, crc })
    }

    fn header_bytes(&self) -> Result<u32, FormatError> {
        (self.batch_count as usize)
            .checked_mul(INDEX_ENTRY_BYTES)
            .and_then(|index| index.checked_add(FIXED_HEADER_BYTES))
            .and_then(|bytes| u32::try_from(bytes).ok())
            .filter(|bytes| *bytes <= self.length)
            .ok_or(FormatError::Inconsistent { what: "the index is longer than the object" })
    }
}

fn check_tiling(facts: &[BatchFacts], begin: u32, end: u32) -> Result<(), FormatError> {
    let mut next = Some(begin);
    for batch in facts {
        if next != Some(batch.position) {
            return Err(FormatError::Inconsistent {
                what: "a batch does not follow the one before",
            });
        }
        next = batch.position.checked_add(batch.length);
    }
    if next == Some(end) {
        Ok(())
    } else {
        Err(FormatError::Inconsistent { what: "the batches do not end where the object does" })
    }
}

fn check_grouping(facts: &[BatchFacts]) -> Result<(), FormatError> {
    let mut seen = BTreeSet::new();
    for (at, batch) in facts.iter().enumerate() {
        let begins = at == 0 || facts[at - 1].partition != batch.partition;
        if begins && !seen.insert(batch.partition) {
            return Err(FormatError::Inconsistent { what: "a partition's batches are apart" });
        }
    }
    Ok(())
}
