//! Entries: what a partition's log is made of, as readers see it.
//!
//! - The entries of a partition tile its offsets from the first entry's base to the high watermark.
//! - An entry is free of holes, in offsets and (an extent) in bytes.

use tidemill_base::digest::ExtentFacts;
use tidemill_base::{FileId, LeaderEpoch, Location, Offset, TimestampMs};

use crate::codec::{DecodeError, Encoded, Reader, Writer, encoded_fields};

/// A stretch of batches of one partition that lie one after another in one file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extent {
    /// The file.
    pub file: FileId,
    /// The first byte within the file.
    pub position: u64,
    /// How many bytes.
    pub length: u32,
    /// The offset of the first record.
    pub base_offset: Offset,
    /// How many offsets, at least 1.
    pub record_count: u32,
    /// The largest timestamp in it.
    pub max_timestamp: TimestampMs,
    /// The leader epoch under which it was committed; supplied to its batches when served.
    pub leader_epoch: LeaderEpoch,
}

impl Extent {
    /// What an index object lists of it and a digest covers.
    #[must_use]
    pub fn facts(&self) -> ExtentFacts {
        ExtentFacts {
            base_offset: self.base_offset,
            position: self.position,
            length: self.length,
            record_count: self.record_count,
            max_timestamp: self.max_timestamp,
            leader_epoch: self.leader_epoch,
        }
    }
}

/// Many extents of one file, folded: an index object lists them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Folded {
    /// The file that holds the batches.
    pub file: FileId,
    /// Where the index object lies.
    pub index: Location,
    /// The offset of the first record.
    pub base_offset: Offset,
    /// How many offsets.
    pub record_count: u32,
    /// How many bytes of the file its extents take together.
    pub length: u32,
    /// How many extents were folded.
    pub extents: u32,
    /// The largest timestamp in it.
    pub max_timestamp: TimestampMs,
}

/// An entry of a partition's log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// Bytes to read.
    Extent(Extent),
    /// An index object to read first.
    Folded(Folded),
}

impl Entry {
    /// The offset of the first record.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        match self {
            Self::Extent(extent) => extent.base_offset,
            Self::Folded(folded) => folded.base_offset,
        }
    }

    /// How many offsets it takes.
    #[must_use]
    pub fn record_count(&self) -> u32 {
        match self {
            Self::Extent(extent) => extent.record_count,
            Self::Folded(folded) => folded.record_count,
        }
    }

    /// The offset after the last record.
    #[must_use]
    pub fn end_offset(&self) -> Offset {
        self.base_offset().plus(self.record_count())
    }

    /// How many bytes of its file it takes.
    #[must_use]
    pub fn length(&self) -> u32 {
        match self {
            Self::Extent(extent) => extent.length,
            Self::Folded(folded) => folded.length,
        }
    }

    /// The largest timestamp in it.
    #[must_use]
    pub fn max_timestamp(&self) -> TimestampMs {
        match self {
            Self::Extent(extent) => extent.max_timestamp,
            Self::Folded(folded) => folded.max_timestamp,
        }
    }

    /// The file that holds its bytes.
    #[must_use]
    pub fn file(&self) -> FileId {
        match self {
            Self::Extent(extent) => extent.file,
            Self::Folded(folded) => folded.file,
        }
    }
}

encoded_fields!(Extent {
    file: FileId,
    position: u64,
    length: u32,
    base_offset: Offset,
    record_count: u32,
    max_timestamp: TimestampMs,
    leader_epoch: LeaderEpoch,
});
encoded_fields!(Folded {
    file: FileId,
    index: Location,
    base_offset: Offset,
    record_count: u32,
    length: u32,
    extents: u32,
    max_timestamp: TimestampMs,
});

impl Encoded for Entry {
    const BYTES_MIN: usize = 1 + Extent::BYTES_MIN;

    fn encode(&self, to: &mut Writer) {
        match self {
            Self::Extent(extent) => {
                to.put(&0u8);
                to.put(extent);
            }
            Self::Folded(folded) => {
                to.put(&1u8);
                to.put(folded);
            }
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.take::<u8>()? {
            0 => Ok(Self::Extent(from.take()?)),
            1 => Ok(Self::Folded(from.take()?)),
            _ => Err(from.error("entry", "is of an unknown kind")),
        }
    }
}
