//! The answers a lane receives from the metadata, and the ones it gives.

use tidemill_base::{BatchOutcome, LaneSequence};

/// What the metadata said of a proposed object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommitAnswer {
    /// It was committed, now or before; one outcome per batch, in the object's order.
    Outcomes(Vec<BatchOutcome>),
    /// It does not follow what the metadata has; nothing changed. Resend from this one.
    Gap {
        /// The next sequence the metadata will take.
        expected: LaneSequence,
    },
    /// It is at or below the lane's floor, and never will be committed.
    BelowFloor,
    /// The broker's registration has been replaced or fenced.
    Fenced,
    /// It may have been committed: the answer was lost. Ask again.
    Ambiguous,
    /// It was not taken in: the metadata is busy. Ask again later.
    NotNow,
}

/// Why a flush failed before it was ever proposed. Nothing of it is or will be visible.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FlushFailure {
    /// The store had no room.
    StoreFull,
    /// The store failed or was too slow for the whole flush timeout.
    StoreFailed,
    /// The broker is fenced: another registration has taken its place.
    Fenced,
    /// The lane is closing.
    Closed,
}

/// What a lane says of one batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchAnswer {
    /// The metadata decided.
    Decided(BatchOutcome),
    /// It is not stored and never will be; the client may send it again.
    Failed(FlushFailure),
    /// It may be stored.
    Ambiguous,
}
