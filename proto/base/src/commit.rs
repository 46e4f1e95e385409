//! The words of a commit: what the log says of each batch, and what the metadata answers.

use crate::ids::{PartitionId, ProducerEpoch, ProducerId};
use crate::position::{BaseSequence, Offset, TimestampMs};

/// What identifies a batch of an idempotent producer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProducerFacts {
    /// The producer's id.
    pub id: ProducerId,
    /// The producer's epoch.
    pub epoch: ProducerEpoch,
    /// The sequence of the batch's first record.
    pub base_sequence: BaseSequence,
    /// The producer's transaction number as known at admission; 0 outside transactions.
    pub transaction: u32,
}

/// One batch inside a log object, as the metadata sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchFacts {
    /// The partition it was admitted for.
    pub partition: PartitionId,
    /// Its first byte, counted from the object's first byte.
    pub position: u32,
    /// Its length in bytes.
    pub length: u32,
    /// How many offsets it takes: last offset delta + 1. At least 1.
    pub record_count: u32,
    /// The largest timestamp of its records.
    pub max_timestamp: TimestampMs,
    /// Who produced it, if idempotent.
    pub producer: Option<ProducerFacts>,
    /// Whether it belongs to a transaction.
    pub transactional: bool,
}

/// What the metadata decided about one batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchOutcome {
    /// It has these offsets from now on.
    Committed {
        /// The offset of its first record.
        base_offset: Offset,
        /// The partition's log start at that moment.
        log_start: Offset,
    },
    /// It was committed before; the client is answered as if it had just been.
    Duplicate {
        /// The offset of its first record, as first assigned.
        base_offset: Offset,
        /// The partition's log start at that moment.
        log_start: Offset,
    },
    /// It was committed before, so long ago that its offset is no longer known.
    DuplicateForgotten,
    /// Its sequence does not follow the last one known.
    OutOfOrder,
    /// Its producer epoch is older than the one known.
    Fenced,
    /// Its partition does not exist any more.
    PartitionGone,
    /// The table of producers is full of live ones; try again.
    ProducersFull,
}

impl BatchOutcome {
    /// Whether the client may count the batch as stored.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        matches!(self, Self::Committed { .. } | Self::Duplicate { .. } | Self::DuplicateForgotten)
    }
}
