//! Outcomes: what the state machine answers to a command.
//!
//! Not here: what changed (events), and outcomes of single batches (`tidemill_base::BatchOutcome`).

use std::sync::Arc;

use tidemill_base::{
    BatchOutcome, BrokerEpoch, GroupEpoch, LaneSequence, Offset, PartitionId, ProducerId,
};

use crate::groups::Group;
use crate::refusal::Refusal;

/// The answer to a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Done, and there is nothing more to say. (SealFile, Condemn, DeleteTopic, AlterConfigs,
    /// CompleteGeneration, FenceBroker, RaiseFeatureLevel, StartIncarnation, Tick.)
    Done,
    /// CommitObject: what became of each batch, in the command's order. The same again, when the
    /// same sequence is proposed again with the same location.
    Object(Arc<[BatchOutcome]>),
    /// CommitObject: not the lane's next object. Nothing changed; resend from `expected`.
    Gap {
        /// The sequence that the lane awaits.
        expected: LaneSequence,
    },
    /// RegisterBroker: the broker's new epoch.
    Registered(BrokerEpoch),
    /// AllocateProducerIds: a block of ids, from `first` on.
    ProducerIds {
        /// The first id.
        first: ProducerId,
        /// How many there are.
        count: u32,
    },
    /// CreateTopic: the ids of the topic's partitions, by index. CreatePartitions: of the new ones.
    Partitions(Vec<PartitionId>),
    /// AdvanceLogStart: one answer for each advance.
    LogStarts(Vec<LogStartOutcome>),
    /// FoldExtents: one answer for each run.
    Folds(Vec<FoldOutcome>),
    /// ForgetFiles: how many were garbage and are forgotten.
    Forgotten(usize),
    /// ClaimGroup: the group is the claimer's.
    Claimed {
        /// The epoch under which the group's commands are accepted.
        epoch: GroupEpoch,
        /// The group as it stands, so that the coordinator can go on.
        group: Box<Group>,
    },
    /// DeleteGroups: one answer for each group.
    GroupsDeleted(Vec<Result<(), Refusal>>),
    /// CommitOffsets: one answer for each offset. DeleteOffsets: one for each partition.
    Offsets(Vec<Result<(), Refusal>>),
    /// ExpireOffsets: how many offsets went.
    Expired(usize),
    /// Refused as a whole; nothing changed.
    Refused(Refusal),
}

/// What became of one log start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogStartOutcome {
    /// The log starts here now (further on than asked, if it already did).
    StartsAt(Offset),
    /// The offset asked for is beyond the high watermark.
    OutOfRange,
    /// The partition does not exist any more.
    PartitionGone,
}

/// What became of one run of a fold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldOutcome {
    /// The run is one entry now.
    Folded,
    /// The log start has passed the run, or the partition is gone: there is nothing left to fold.
    Gone,
    /// The extents are not those that the index object holds.
    Changed,
}
