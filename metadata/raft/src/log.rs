//! The Raft log on disk: segments of append files, found again after a crash at any moment.
//!
//! Read in this order: [`record`] (what the frames hold, pure), `terms` (the term of every entry),
//! `segment` (names and places), `recovery` (reading an earlier life's log), `raft_log` (appending,
//! rolling, truncating), `log_view` (what the Raft library sees).

pub(crate) mod log_view;
pub(crate) mod raft_log;
pub mod record;
pub(crate) mod recovery;
pub(crate) mod segment;
pub(crate) mod terms;

use raft::eraftpb::Entry;

pub use record::{LogIdentity, Membership, RecordError};

/// An entry's index and term. Two logs that have the same position have the same entries up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition {
    /// The index, from 1; 0 is before the first entry.
    pub index: u64,
    /// The term in which it was proposed.
    pub term: u64,
}

impl LogPosition {
    pub(crate) fn of(entry: &Entry) -> Self {
        Self { index: entry.index, term: entry.term }
    }
}
