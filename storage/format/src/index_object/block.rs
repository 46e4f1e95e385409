//! A block of an index object: the extents of one run, searchable where they lie.
//!
//! ```text
//! extent (36 bytes) ...                     CRC-32C u32 of the extents
//!  0 base offset i64   16 length u32         24 max timestamp i64
//!  8 position u64      20 record count u32   32 leader epoch i32
//! ```

use bytes::{BufMut, Bytes};
use tidemill_base::{ExtentDigest, ExtentFacts, LeaderEpoch, Offset, PartitionId, TimestampMs};

use super::run::IndexRun;
use super::{BLOCK_CRC_BYTES, EXTENT_BYTES};
use crate::error::FormatError;
use crate::fields::{FieldReader, check_sum};

/// The extents of one run, checked against the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexBlock {
    extents: Bytes,
}

impl IndexBlock {
    /// Reads the block of `run` that `bytes` hold exactly.
    ///
    /// # Errors
    /// [`FormatError::Truncated`], [`FormatError::ChecksumMismatch`], [`FormatError::Inconsistent`]
    /// if the extents are not those that the directory tells of.
    pub fn decode(run: &IndexRun, mut bytes: Bytes) -> Result<Self, FormatError> {
        let (needed, available) = (run.block_bytes(), bytes.len() as u64);
        if needed > available {
            return Err(FormatError::Truncated { needed, available });
        }
        if needed < available {
            return Err(FormatError::Inconsistent { what: "bytes follow the block" });
        }
        let stored = bytes.split_off(bytes.len() - BLOCK_CRC_BYTES);
        let stored = FieldReader::new(&stored).u32()?;
        check_sum("an index object's block", stored, crc32c::crc32c(&bytes))?;
        let block = Self { extents: bytes };
        let mut sum = RunSum::new(run.first_offset);
        for extent in block.iter() {
            sum.add(&extent).map_err(|what| FormatError::Inconsistent { what })?;
        }
        if sum.matches(run) {
            Ok(block)
        } else {
            Err(FormatError::Inconsistent { what: "a block is not what the directory tells" })
        }
    }

    /// How many extents there are.
    #[must_use]
    pub fn extent_count(&self) -> usize {
        self.extents.len() / EXTENT_BYTES
    }

    /// The extent at `index`, from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<ExtentFacts> {
        self.raw().get(index).map(read)
    }

    /// The extents in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ExtentFacts> + '_ {
        self.raw().iter().map(read)
    }

    fn raw(&self) -> &[[u8; EXTENT_BYTES]] {
        self.extents.as_chunks().0
    }

    /// The place of the extent that holds `offset`.
    #[must_use]
    pub fn find(&self, offset: Offset) -> Option<usize> {
        let index = self.raw().partition_point(|raw| read(raw).end_offset() <= offset);
        self.get(index).filter(|extent| extent.base_offset <= offset).map(|_| index)
    }
}

pub(super) fn put(out: &mut impl BufMut, extent: &ExtentFacts) {
    out.put_i64_le(extent.base_offset.0);
    out.put_u64_le(extent.position);
    out.put_u32_le(extent.length);
    out.put_u32_le(extent.record_count);
    out.put_i64_le(extent.max_timestamp.0);
    out.put_i32_le(extent.leader_epoch.0);
}

fn read(bytes: &[u8; EXTENT_BYTES]) -> ExtentFacts {
    ExtentFacts {
        base_offset: Offset(i64::from_le_bytes(field(bytes, 0))),
        position: u64::from_le_bytes(field(bytes, 8)),
        length: u32::from_le_bytes(field(bytes, 16)),
        record_count: u32::from_le_bytes(field(bytes, 20)),
        max_timestamp: TimestampMs(i64::from_le_bytes(field(bytes, 24))),
        leader_epoch: LeaderEpoch(i32::from_le_bytes(field(bytes, 32))),
    }
}

fn field<const N: usize>(bytes: &[u8; EXTENT_BYTES], position: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[position..position + N]);
    field
}

/// What the directory tells of a run, added up extent by extent.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunSum {
    next_offset: Offset,
    extents: u32,
    extent_bytes: u32,
    max_timestamp: TimestampMs,
    digest: ExtentDigest,
}

impl RunSum {
    pub(super) fn new(first_offset: Offset) -> Self {
        Self {
            next_offset: first_offset,
            extents: 0,
            extent_bytes: 0,
            max_timestamp: TimestampMs(i64::MIN),
            digest: ExtentDigest::EMPTY,
        }
    }

    /// Adds the next extent, or says why it cannot be the next.
    pub(super) fn add(&mut self, extent: &ExtentFacts) -> Result<(), &'static str> {
        if extent.base_offset != self.next_offset {
            return Err("an extent does not follow the one before");
        }
        if extent.length == 0 || extent.record_count == 0 {
            return Err("an extent without bytes or records");
        }
        let end = extent.base_offset.0.checked_add(i64::from(extent.record_count));
        self.next_offset = Offset(end.ok_or("an extent's offsets overflow")?);
        extent.position.checked_add(extent.length.into()).ok_or("an extent's bytes overflow")?;
        self.extent_bytes = self
            .extent_bytes
            .checked_add(extent.length)
            .ok_or("a run has more bytes than can be told")?;
        self.extents = self.extents.checked_add(1).ok_or("a run has too many extents")?;
        self.max_timestamp = self.max_timestamp.max(extent.max_timestamp);
        self.digest = self.digest.then(extent);
        Ok(())
    }

    /// The directory entry of the run.
    pub(super) fn run(
        &self,
        partition: PartitionId,
        first_offset: Offset,
        block_position: u32,
    ) -> IndexRun {
        IndexRun {
            partition,
            extents: self.extents,
            block_position,
            extent_bytes: self.extent_bytes,
            first_offset,
            end_offset: self.next_offset,
            max_timestamp: self.max_timestamp,
            digest: self.digest,
        }
    }

    fn matches(&self, run: &IndexRun) -> bool {
        self.run(run.partition, run.first_offset, run.block_position) == *run
    }
}
