//! Broken twins: mutations of the product that the simulation switches on to prove that it would
//! notice them (docs/decisions/0007).
//!
//! The mutated branch stands in the product's own code, behind `if twins::is_on(Twin::X)`. Without
//! the cargo feature `twins` that call is a constant `false`, so that a released binary holds no
//! trace of it. With the feature, twins are switched on for one thread (a simulated cluster lives
//! on one thread) and off again when the guard is dropped.
//!
//! Not here: faults of the world (torn writes, lost answers, slow syncs). Those belong to the
//! simulated adapters; a twin is a mistake of *ours*.

/// A mistake that an invariant must catch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Twin {
    /// Storage calls an object durable before its sync returned.
    AckBeforeSync = 0,
    /// A produce is answered when its object is durable, before the metadata committed it.
    AckBeforeCommit = 1,
    /// After a failed sync the same file is synced again and believed.
    RetrySameFileAfterFailedSync = 2,
    /// A lane's recorded outcomes are lost, so that asking again commits again.
    OutcomeForgotten = 3,
    /// A lane's gap is accepted although no skip names it.
    SkippedFlushAccepted = 4,
    /// A reference at or below its floor is accepted.
    FloorIgnored = 5,
    /// A fold replaces whatever extents are there.
    FoldWithoutCompare = 6,
    /// Only four batches are kept per producer and partition.
    DuplicateWindowOfFour = 7,
    /// The written-behind state claims a later index than it holds.
    AppliedIndexAheadOfState = 8,
    /// A topic created again under its name gets its old ids.
    TopicIdReused = 9,
    /// Recovery believes the torn tail of an append file.
    TornTailAccepted = 10,
    /// Unreachable files are deleted at once.
    GraceIgnored = 11,
    /// A sequence a producer already used is accepted as new.
    StaleSequenceAccepted = 12,
    /// Offset commits are accepted from a fenced coordinator or generation.
    OffsetsNotFenced = 13,
    /// Batches are sent from their file without a look at the heads they have there.
    HeadsBelieved = 14,
    /// Files that nobody knows are deleted although a commit may still name them.
    OrphanNotCondemned = 15,
    /// A commit of offsets is answered before the metadata committed it.
    OffsetsAckedEarly = 16,
    /// A commit of offsets is made by several commands.
    OffsetsSplit = 17,
    /// A member that missed a rebalance commits offsets as if it were in the new generation.
    OldGenerationCommits = 18,
    /// Members get their assignment before the generation is recorded.
    AssignedBeforeRecorded = 19,
    /// A member that had an assignment keeps it in the next generation.
    AssignmentKept = 20,
    /// Room on the disk that was low once counts as low for ever.
    SpaceStaysLow = 21,
    /// Records are taken however little room there is on the disk.
    LowWaterIgnored = 22,
}

impl Twin {
    /// Every twin, in the order of their numbers.
    pub const ALL: [Self; 23] = [
        Self::AckBeforeSync,
        Self::AckBeforeCommit,
        Self::RetrySameFileAfterFailedSync,
        Self::OutcomeForgotten,
        Self::SkippedFlushAccepted,
        Self::FloorIgnored,
        Self::FoldWithoutCompare,
        Self::DuplicateWindowOfFour,
        Self::AppliedIndexAheadOfState,
        Self::TopicIdReused,
        Self::TornTailAccepted,
        Self::GraceIgnored,
        Self::StaleSequenceAccepted,
        Self::OffsetsNotFenced,
        Self::HeadsBelieved,
        Self::OrphanNotCondemned,
        Self::OffsetsAckedEarly,
        Self::OffsetsSplit,
        Self::OldGenerationCommits,
        Self::AssignedBeforeRecorded,
        Self::AssignmentKept,
        Self::SpaceStaysLow,
        Self::LowWaterIgnored,
    ];

    /// The twin's name on a command line: `ack-before-sync`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AckBeforeSync => "ack-before-sync",
            Self::AckBeforeCommit => "ack-before-commit",
            Self::RetrySameFileAfterFailedSync => "retry-same-file-after-failed-sync",
            Self::OutcomeForgotten => "outcome-forgotten",
            Self::SkippedFlushAccepted => "skipped-flush-accepted",
            Self::FloorIgnored => "floor-ignored",
            Self::FoldWithoutCompare => "fold-without-compare",
            Self::DuplicateWindowOfFour => "duplicate-window-of-four",
            Self::AppliedIndexAheadOfState => "applied-index-ahead-of-state",
            Self::TopicIdReused => "topic-id-reused",
            Self::TornTailAccepted => "torn-tail-accepted",
            Self::GraceIgnored => "grace-ignored",
            Self::StaleSequenceAccepted => "stale-sequence-accepted",
            Self::OffsetsNotFenced => "offsets-not-fenced",
            Self::OrphanNotCondemned => "orphan-not-condemned",
            Self::HeadsBelieved => "heads-believed",
            Self::SpaceStaysLow => "space-stays-low",
            Self::LowWaterIgnored => "low-water-ignored",
            Self::OffsetsAckedEarly => "offsets-acked-early",
            Self::OffsetsSplit => "offsets-split",
            Self::OldGenerationCommits => "old-generation-commits",
            Self::AssignedBeforeRecorded => "assigned-before-recorded",
            Self::AssignmentKept => "assignment-kept",
        }
    }

    /// The twin of that [`name`](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|twin| twin.name() == name)
    }
}

#[cfg(feature = "twins")]
pub use switched::{Guard, is_on, switch_on};

/// Whether `twin` is switched on: never, in a build without the feature `twins`.
#[cfg(not(feature = "twins"))]
#[must_use]
#[inline(always)]
pub const fn is_on(_twin: Twin) -> bool {
    false
}

#[cfg(feature = "twins")]
mod switched {
    use std::cell::Cell;

    use super::Twin;

    thread_local! {
        static ON: Cell<u32> = const { Cell::new(0) };
    }

    /// Whether `twin` is switched on in this thread.
    #[must_use]
    pub fn is_on(twin: Twin) -> bool {
        ON.get() & bit(twin) != 0
    }

    /// Switches `twin` on in this thread until the guard is dropped.
    #[must_use = "the twin is switched off when the guard is dropped"]
    pub fn switch_on(twin: Twin) -> Guard {
        let before = ON.get();
        ON.set(before | bit(twin));
        Guard { before }
    }

    /// Keeps a twin switched on. Guards are dropped in the reverse order of their making.
    #[derive(Debug)]
    pub struct Guard {
        before: u32,
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            ON.set(self.before);
        }
    }

    fn bit(twin: Twin) -> u32 {
        1 << (twin as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_twin_is_found_by_its_name() {
        for (number, twin) in Twin::ALL.into_iter().enumerate() {
            assert_eq!(twin as usize, number);
            assert_eq!(Twin::named(twin.name()), Some(twin));
        }
        assert_eq!(Twin::named("none"), None);
    }

    #[cfg(feature = "twins")]
    #[test]
    fn a_twin_is_on_while_its_guard_lives() {
        assert!(!is_on(Twin::FloorIgnored));
        let guard = switch_on(Twin::FloorIgnored);
        assert!(is_on(Twin::FloorIgnored));
        assert!(!is_on(Twin::GraceIgnored));
        drop(guard);
        assert!(!is_on(Twin::FloorIgnored));
    }

    #[cfg(not(feature = "twins"))]
    #[test]
    fn without_the_feature_no_twin_is_on() {
        assert!(Twin::ALL.into_iter().all(|twin| !is_on(twin)));
    }
}
