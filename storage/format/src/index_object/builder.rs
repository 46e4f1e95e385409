//! Building an index object from the runs of a file.

use bytes::{BufMut, Bytes};
use tidemill_base::{ExtentFacts, FileId, ObjectId, PartitionId};

use super::block::{self, RunSum};
use super::directory::IndexDirectory;
use super::run::IndexRun;
use super::{BLOCK_CRC_BYTES, DIRECTORY_ENTRY_BYTES, EXTENT_BYTES, FIXED_HEADER_BYTES};
use crate::error::FormatError;

/// An index object in the making.
#[derive(Debug)]
pub struct IndexObjectBuilder {
    object: ObjectId,
    file: FileId,
    runs: Vec<(IndexRun, Vec<u8>)>,
}

/// An index object, ready to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncodedIndex {
    /// The object's bytes.
    pub bytes: Bytes,
    /// Its runs in order: what the fold names.
    pub runs: Vec<IndexRun>,
}

impl IndexObjectBuilder {
    /// An index of `file`, named `object`, without runs.
    #[must_use]
    pub fn new(object: ObjectId, file: FileId) -> Self {
        Self { object, file, runs: Vec::new() }
    }

    /// Adds a run: extents of one partition in the file that follow one another in offsets. Runs may
    /// be added in any order.
    ///
    /// # Errors
    /// [`FormatError::NotEncodable`] if the extents are none, leave holes or overflow; then nothing
    /// is added.
    pub fn push(
        &mut self,
        partition: PartitionId,
        extents: &[ExtentFacts],
    ) -> Result<(), FormatError> {
        let not_encodable = |what| FormatError::NotEncodable { what };
        let first = extents.first().ok_or(not_encodable("a run without extents"))?;
        let mut sum = RunSum::new(first.base_offset);
        let mut bytes = Vec::with_capacity(extents.len() * EXTENT_BYTES + BLOCK_CRC_BYTES);
        for extent in extents {
            sum.add(extent).map_err(not_encodable)?;
            block::put(&mut bytes, extent);
        }
        let crc = crc32c::crc32c(&bytes);
        bytes.put_u32_le(crc);
        self.runs.push((sum.run(partition, first.base_offset, 0), bytes));
        Ok(())
    }

    /// The finished object.
    ///
    /// # Errors
    /// [`FormatError::NotEncodable`] if runs overlap, a run takes more than `u32::MAX` offsets, or
    /// the object would pass `u32::MAX` bytes.
    pub fn finish(mut self) -> Result<EncodedIndex, FormatError> {
        self.runs.sort_by_key(|(run, _)| (run.partition, run.first_offset));
        let directory_bytes = FIXED_HEADER_BYTES + self.runs.len() * DIRECTORY_ENTRY_BYTES;
        let blocks_bytes: usize = self.runs.iter().map(|(_, block)| block.len()).sum();
        let length = u32::try_from(directory_bytes + blocks_bytes)
            .map_err(|_| FormatError::NotEncodable { what: "the object would pass 4 GiB" })?;
        let mut position = directory_bytes as u32;
        for (run, block) in &mut self.runs {
            run.block_position = position;
            position += block.len() as u32;
        }
        let runs: Vec<IndexRun> = self.runs.iter().map(|(run, _)| *run).collect();
        IndexDirectory::check_order(&runs)
            .map_err(|_| FormatError::NotEncodable { what: "runs overlap or are too long" })?;
        let directory = IndexDirectory { object: self.object, file: self.file, length, runs };
        let mut bytes = directory.encode();
        bytes.reserve_exact(blocks_bytes);
        for (_, block) in &self.runs {
            bytes.extend_from_slice(block);
        }
        Ok(EncodedIndex { bytes: bytes.into(), runs: directory.runs })
    }
}
