//! An entry as it is kept in memory: 40 bytes, with files as slots of a table.
//!
//! A state holds millions of entries over time and hundreds of thousands at once, a projection the
//! same again, so the file's name (28 bytes) is interned and an extent and a folded entry share one
//! layout.

use tidemill_base::{LeaderEpoch, Location, Offset, TimestampMs};

use crate::codec::encoded;
use crate::entry::{Entry, Extent, Folded};
use crate::slots::{Slot, Slots};

/// Stands where an extent has its leader epoch (which is never negative).
const FOLDED: i32 = i32::MIN;

encoded! {
    /// An extent or a folded entry.
    #[derive(Copy)]
    pub(crate) struct Packed {
        pub(crate) base_offset: i64,
        pub(crate) max_timestamp: i64,
        /// An extent's position in its file; a folded entry's index object (high half) and number of
        /// extents (low half).
        place: u64,
        /// The file that holds the bytes.
        pub(crate) file: Slot,
        pub(crate) length: u32,
        pub(crate) record_count: u32,
        epoch: i32,
    }
}

impl Packed {
    pub(crate) fn extent(extent: &Extent, file: Slot) -> Self {
        Self {
            base_offset: extent.base_offset.0,
            max_timestamp: extent.max_timestamp.0,
            place: extent.position,
            file,
            length: extent.length,
            record_count: extent.record_count,
            epoch: extent.leader_epoch.0,
        }
    }

    pub(crate) fn folded(folded: &Folded, file: Slot, index: Slot) -> Self {
        Self {
            base_offset: folded.base_offset.0,
            max_timestamp: folded.max_timestamp.0,
            place: u64::from(index) << 32 | u64::from(folded.extents),
            file,
            length: folded.length,
            record_count: folded.record_count,
            epoch: FOLDED,
        }
    }

    pub(crate) fn end(&self) -> i64 {
        self.base_offset + i64::from(self.record_count)
    }

    pub(crate) fn is_folded(&self) -> bool {
        self.epoch == FOLDED
    }

    /// A folded entry's index object.
    pub(crate) fn index(&self) -> Option<Slot> {
        self.is_folded().then_some((self.place >> 32) as Slot)
    }

    /// The entry in full. `None` if a slot is not in use, which no apply leaves behind.
    pub(crate) fn unpack<V>(
        &self,
        files: &Slots<V>,
        index_length: impl Fn(&V) -> u32,
    ) -> Option<Entry> {
        let (file, _) = files.get(self.file)?;
        let Some(index) = self.index() else {
            return Some(Entry::Extent(Extent {
                file,
                position: self.place,
                length: self.length,
                base_offset: Offset(self.base_offset),
                record_count: self.record_count,
                max_timestamp: TimestampMs(self.max_timestamp),
                leader_epoch: LeaderEpoch(self.epoch),
            }));
        };
        let (index_file, index_entry) = files.get(index)?;
        Some(Entry::Folded(Folded {
            file,
            index: Location { file: index_file, position: 0, length: index_length(index_entry) },
            base_offset: Offset(self.base_offset),
            record_count: self.record_count,
            length: self.length,
            extents: self.place as u32,
            max_timestamp: TimestampMs(self.max_timestamp),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_takes_forty_bytes() {
        assert_eq!(size_of::<Packed>(), 40);
    }
}
