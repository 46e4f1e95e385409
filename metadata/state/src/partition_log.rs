//! The log of one partition, as both the state and a projection keep it.
//!
//! `log_start <= high_watermark`, and the entries tile the offsets from at or below the log start
//! to the high watermark (an entry that the log start has cut into stays whole).

use tidemill_base::{LeaderEpoch, Offset};

use crate::entries::Entries;
use crate::packed::Packed;

/// The log of one partition.
#[derive(Clone, Debug)]
pub(crate) struct PartitionLog {
    pub(crate) log_start: Offset,
    pub(crate) high_watermark: Offset,
    pub(crate) leader_epoch: LeaderEpoch,
    /// The kept epochs (begun by creation or restore) and their first offsets.
    pub(crate) epoch_starts: Vec<(LeaderEpoch, Offset)>,
    pub(crate) entries: Entries,
    /// The bytes of all entries.
    pub(crate) bytes: u64,
}

impl PartitionLog {
    /// An empty log, in epoch 0.
    pub(crate) fn new() -> Self {
        Self {
            log_start: Offset(0),
            high_watermark: Offset(0),
            leader_epoch: LeaderEpoch(0),
            epoch_starts: vec![(LeaderEpoch(0), Offset(0))],
            entries: Entries::default(),
            bytes: 0,
        }
    }

    /// Appends an entry that begins at the high watermark.
    pub(crate) fn append(&mut self, item: Packed) {
        debug_assert_eq!(item.base_offset, self.high_watermark.0, "entries tile the offsets");
        self.high_watermark = Offset(item.end());
        self.bytes += u64::from(item.length);
        self.entries.push(item);
    }

    /// Advances the log start (never past the high watermark), giving each entry that is gone to
    /// `removed`. Returns the keys of the chunks that went.
    pub(crate) fn advance(&mut self, to: Offset, mut removed: impl FnMut(&Packed)) -> Vec<i64> {
        self.log_start = self.log_start.max(to.min(self.high_watermark));
        let bytes = &mut self.bytes;
        self.entries.remove_below(self.log_start.0, |item| {
            *bytes -= u64::from(item.length);
            removed(item);
        })
    }

    /// Puts one entry in the place of those within its range. Returns the keys of the chunks that
    /// went.
    pub(crate) fn fold(&mut self, with: Packed) -> Vec<i64> {
        let old: u64 = self
            .entries
            .iter_from(with.base_offset)
            .take_while(|item| item.base_offset < with.end())
            .map(|item| u64::from(item.length))
            .sum();
        self.bytes = self.bytes + u64::from(with.length) - old;
        self.entries.replace(with.base_offset, with.end(), with)
    }

    /// Raises the leader epoch; `start` is given if the epoch is one that is kept.
    pub(crate) fn raise_epoch(&mut self, epoch: LeaderEpoch, start: Option<Offset>) {
        self.leader_epoch = epoch;
        self.epoch_starts.extend(start.map(|start| (epoch, start)));
    }

    /// Where a leader epoch ends, as OffsetForLeaderEpoch answers: the start of the next kept epoch
    /// above it, else the high watermark. `None` for an epoch that has not begun.
    pub(crate) fn epoch_end(&self, epoch: LeaderEpoch) -> Option<Offset> {
        if epoch > self.leader_epoch {
            return None;
        }
        let next = self.epoch_starts.iter().find(|(kept, _)| *kept > epoch);
        Some(next.map_or(self.high_watermark, |(_, start)| *start))
    }

    pub(crate) fn approximate_bytes(&self) -> usize {
        size_of::<Self>()
            + self.entries.approximate_bytes()
            + self.epoch_starts.capacity() * size_of::<(LeaderEpoch, Offset)>()
    }
}
