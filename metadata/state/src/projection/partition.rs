//! A partition of a projection, and the queries that reads need.

use tidemill_base::{LeaderEpoch, Offset, PartitionId, PartitionIndex, TimestampMs, TopicId};

use crate::entry::Entry;
use crate::event::PartitionImage;
use crate::packed::Packed;
use crate::partition_log::PartitionLog;
use crate::slots::Slots;

/// What a projection knows of a file: how many entries refer to it, and an index object's length.
#[derive(Clone, Default, Debug)]
pub(super) struct IndexedFile {
    pub(super) references: u32,
    pub(super) length: u32,
}

#[derive(Clone, Debug)]
pub(super) struct ProjectedPartition {
    pub(super) topic: TopicId,
    pub(super) index: PartitionIndex,
    pub(super) log: PartitionLog,
}

impl ProjectedPartition {
    pub(super) fn approximate_bytes(&self) -> usize {
        size_of::<TopicId>() + size_of::<PartitionIndex>() + self.log.approximate_bytes()
    }
}

/// A partition as a projection shows it.
#[derive(Clone, Copy, Debug)]
pub struct PartitionView<'a> {
    id: PartitionId,
    partition: &'a ProjectedPartition,
    files: &'a Slots<IndexedFile>,
}

impl<'a> PartitionView<'a> {
    pub(super) fn new(
        id: PartitionId,
        partition: &'a ProjectedPartition,
        files: &'a Slots<IndexedFile>,
    ) -> Self {
        Self { id, partition, files }
    }

    /// The partition's internal id.
    #[must_use]
    pub fn id(&self) -> PartitionId {
        self.id
    }

    /// Its topic.
    #[must_use]
    pub fn topic(&self) -> TopicId {
        self.partition.topic
    }

    /// Its index within the topic.
    #[must_use]
    pub fn index(&self) -> PartitionIndex {
        self.partition.index
    }

    /// Where its log starts.
    #[must_use]
    pub fn log_start(&self) -> Offset {
        self.partition.log.log_start
    }

    /// Where its log ends: the offset of the next record.
    #[must_use]
    pub fn high_watermark(&self) -> Offset {
        self.partition.log.high_watermark
    }

    /// Up to where `read_committed` may read. (No transactions yet: the high watermark.)
    #[must_use]
    pub fn last_stable_offset(&self) -> Offset {
        self.high_watermark()
    }

    /// Its leader epoch.
    #[must_use]
    pub fn leader_epoch(&self) -> LeaderEpoch {
        self.partition.log.leader_epoch
    }

    /// The kept epochs (begun by creation or restore) with their first offsets, rising.
    #[must_use]
    pub fn epoch_starts(&self) -> &'a [(LeaderEpoch, Offset)] {
        &self.partition.log.epoch_starts
    }

    /// The bytes of its entries.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.partition.log.bytes
    }

    /// Where a leader epoch ends: the start of the next kept epoch above it, else the high
    /// watermark. `None` for an epoch that has not begun here.
    #[must_use]
    pub fn epoch_end(&self, epoch: LeaderEpoch) -> Option<Offset> {
        self.partition.log.epoch_end(epoch)
    }

    /// The entries from the one that holds `offset` on, until `bytes_max` bytes are reached or
    /// `entries_max` entries; at least one, if there is any. The first may begin below `offset`,
    /// and below the log start.
    #[must_use]
    pub fn entries_from(&self, offset: Offset, bytes_max: u64, entries_max: usize) -> Vec<Entry> {
        let mut bytes = 0u64;
        let mut entries = Vec::new();
        for item in self.partition.log.entries.iter_from(offset.0) {
            if entries.len() >= entries_max.max(1) || (bytes >= bytes_max && !entries.is_empty()) {
                break;
            }
            bytes += u64::from(item.length);
            entries.extend(self.unpack(item));
        }
        entries
    }

    /// The bytes from `offset` to the high watermark, counted by whole entries up to `bytes_max`:
    /// what a fetch with a minimum waits for.
    #[must_use]
    pub fn bytes_from(&self, offset: Offset, bytes_max: u64) -> u64 {
        let mut bytes = 0;
        for item in self.partition.log.entries.iter_from(offset.0) {
            if bytes >= bytes_max {
                break;
            }
            bytes += u64::from(item.length);
        }
        bytes
    }

    /// The first entry at or above `from` that may hold a record with a timestamp of at least
    /// `timestamp`. If it turns out to hold none at or above the log start, ask again from its end.
    #[must_use]
    pub fn entry_reaching(&self, timestamp: TimestampMs, from: Offset) -> Option<Entry> {
        let from = from.max(self.log_start());
        let item = self.partition.log.entries.reaching(timestamp.0, from.0)?;
        self.unpack(item)
    }

    /// The largest timestamp of its entries, if it has any.
    #[must_use]
    pub fn max_timestamp(&self) -> Option<TimestampMs> {
        self.partition.log.entries.max_timestamp().map(TimestampMs)
    }

    /// The whole partition, as a snapshot tells it.
    #[must_use]
    pub fn image(&self) -> PartitionImage {
        let log = &self.partition.log;
        PartitionImage {
            partition: self.id,
            log_start: log.log_start,
            high_watermark: log.high_watermark,
            leader_epoch: log.leader_epoch,
            epoch_starts: log.epoch_starts.clone(),
            entries: log.entries.iter().filter_map(|item| self.unpack(item)).collect(),
        }
    }

    fn unpack(&self, item: &Packed) -> Option<Entry> {
        item.unpack(self.files, |file| file.length)
    }
}
