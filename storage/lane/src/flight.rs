//! One sealed object on its way from memory to the metadata log.

use std::time::Duration;

use tidemill_base::{BatchFacts, LaneSequence, Location};

/// How many puts of one object may run at once: the first, and one that races it.
pub(crate) const PUTS_LIVE_MAX: usize = 2;

/// Where a flight stands.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Not durable yet. `live` are the attempts that run, `retry_at` when the next may start.
    Writing {
        /// The attempts under way, as (number, started at).
        live: Vec<(u32, Duration)>,
        /// When to try again; set while no attempt runs.
        retry_at: Option<Duration>,
        /// A slow attempt is not raced before: the last racer failed a moment ago.
        race_after: Duration,
    },
    /// Durable, and to be proposed, not before `not_before`.
    Durable {
        /// Where it lies: the only location it is ever proposed with.
        location: Location,
        /// The earliest moment of the next proposal.
        not_before: Duration,
    },
    /// Proposed; an answer will come.
    Proposed {
        /// Where it lies.
        location: Location,
    },
}

/// One sealed object.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) sealed_at: Duration,
    pub(crate) batches: Vec<BatchFacts>,
    pub(crate) stage: Stage,
    /// How many puts were started.
    pub(crate) puts: u32,
    /// How many answers asked for another try.
    pub(crate) commit_tries: u32,
    /// The given-up sequences right before this one; named by each of its proposals.
    pub(crate) skips: Vec<LaneSequence>,
    /// Whether the metadata may have taken it in: then only an answer decides its fate.
    pub(crate) may_be_committed: bool,
}

impl Flight {
    pub(crate) fn new(sealed_at: Duration, batches: Vec<BatchFacts>) -> Self {
        Self {
            sealed_at,
            batches,
            stage: Stage::Writing {
                live: Vec::new(),
                retry_at: Some(sealed_at),
                race_after: sealed_at,
            },
            puts: 0,
            commit_tries: 0,
            skips: Vec::new(),
            may_be_committed: false,
        }
    }

    /// Whether it was never proposed, or surely not taken in by the metadata.
    pub(crate) fn may_be_given_up(&self) -> bool {
        !self.may_be_committed && !matches!(self.stage, Stage::Proposed { .. })
    }

    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.stage, Stage::Writing { .. })
    }

    pub(crate) fn is_proposed(&self) -> bool {
        matches!(self.stage, Stage::Proposed { .. })
    }
}
