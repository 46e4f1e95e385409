//! What a group asks its caller to do.

use tidemill_kafka::messages::join_group::JoinGroupResponse;
use tidemill_kafka::messages::sync_group::SyncGroupResponse;
use tidemill_metadata_state::command::Generation;

/// Names a request that waits for its answer. The caller gives each request another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket(pub u64);

/// Names a record within its group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RecordId(pub u64);

/// Something to do. The order matters only among records: they are proposed in the order given.
#[derive(Clone, PartialEq, Debug)]
pub enum GroupAction {
    /// Answer a JoinGroup request.
    AnswerJoin {
        /// The request.
        ticket: Ticket,
        /// Its answer, as of the newest version: older ones show a chosen protocol of `None` as an
        /// empty name.
        response: JoinGroupResponse,
    },
    /// Answer a SyncGroup request.
    AnswerSync {
        /// The request.
        ticket: Ticket,
        /// Its answer.
        response: SyncGroupResponse,
    },
    /// Record a generation in the metadata, then call
    /// [`generation_recorded`](super::Group::generation_recorded), whatever the result.
    Record {
        /// The record.
        id: RecordId,
        /// What to record.
        generation: Generation,
    },
}

/// Why a generation was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordFailure {
    /// Another broker coordinates the group now, or this one is no broker any more.
    NotCoordinator,
    /// The metadata did not answer, or not in time; it may have recorded the generation.
    Unavailable,
    /// The metadata refuses it as it is.
    Refused,
}
