//! Which mistakes the simulation must catch, and how many seeds it may take.

use tidemill_base::twins::Twin;

/// Every mistake is caught within this many seeds.
pub const SEEDS_MAX: u64 = 200;

/// The mistakes that a single node can make and its clients can notice.
pub const CAUGHT: &[Twin] = &[
    Twin::AckBeforeSync,
    Twin::AckBeforeCommit,
    Twin::RetrySameFileAfterFailedSync,
    Twin::OutcomeForgotten,
    Twin::SkippedFlushAccepted,
    Twin::FloorIgnored,
    Twin::FoldWithoutCompare,
    Twin::DuplicateWindowOfFour,
    Twin::AppliedIndexAheadOfState,
    Twin::TopicIdReused,
    Twin::TornTailAccepted,
    Twin::GraceIgnored,
    Twin::StaleSequenceAccepted,
    Twin::OrphanNotCondemned,
    Twin::HeadsBelieved,
    Twin::OffsetsNotFenced,
    Twin::SpaceStaysLow,
    Twin::LowWaterIgnored,
    Twin::OffsetsAckedEarly,
    Twin::OffsetsSplit,
    Twin::OldGenerationCommits,
    Twin::AssignedBeforeRecorded,
    Twin::AssignmentKept,
];
