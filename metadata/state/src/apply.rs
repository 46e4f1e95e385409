//! Applying a command: the one place where the state changes.
//!
//! - A command that is refused as a whole changes nothing but time and index.
//! - Every handler first checks, then changes; what it changes it marks for saving.
//! - State time is the largest time proposed so far; it never goes back.

mod brokers;
mod cluster;
mod commit_object;
mod configs;
mod files;
mod fold;
mod groups;
mod log_start;
mod offsets;
mod producers;
#[cfg(test)]
mod tests;
mod topics;

use tidemill_base::{AppliedIndex, TimestampMs};

use crate::command::Command;
use crate::event::Event;
use crate::files::Freed;
use crate::outcome::Outcome;
use crate::refusal::Refusal;
use crate::state::MetadataState;

/// What applying a command gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The answer to the proposer.
    pub outcome: Outcome,
    /// What watchers are told, in order.
    pub events: Vec<Event>,
}

/// The command being applied: when, at which index, and what it has changed so far.
pub(crate) struct Change {
    /// The state time and index, as a file that becomes garbage remembers them.
    pub(crate) freed: Freed,
    pub(crate) events: Vec<Event>,
}

impl Change {
    pub(crate) fn now(&self) -> TimestampMs {
        self.freed.at
    }
}

impl MetadataState {
    /// Applies the command of log entry `index`, proposed at `proposed`. Entries come in rising
    /// order; one entry may hold several commands.
    pub fn apply(
        &mut self,
        index: AppliedIndex,
        proposed: TimestampMs,
        command: &Command,
    ) -> Applied {
        debug_assert!(index >= self.cluster.applied, "entries are applied in rising order");
        self.cluster.time = self.cluster.time.max(proposed);
        self.pass(index);
        let mut change = Change {
            freed: Freed { at: self.cluster.time, by: self.cluster.applied },
            events: Vec::new(),
        };
        let outcome = self.dispatch(command, &mut change).unwrap_or_else(Outcome::Refused);
        Applied { outcome, events: change.events }
    }

    /// Passes over log entries up to `index` that hold no command (a new leader's empty one).
    pub fn pass(&mut self, index: AppliedIndex) {
        self.cluster.applied = self.cluster.applied.max(index);
        self.changed.cluster = true;
    }

    fn dispatch(&mut self, command: &Command, change: &mut Change) -> Result<Outcome, Refusal> {
        match command {
            Command::CommitObject(command) => self.commit_object(command, change),
            Command::Condemn(command) => self.condemn(command),
            Command::SealFile(command) => self.seal_file(command, change),
            Command::ForgetFiles(command) => Ok(self.forget_files(command)),
            Command::AdvanceLogStart(command) => Ok(self.advance_log_starts(command, change)),
            Command::FoldExtents(command) => self.fold_extents(command, change),
            Command::RegisterBroker(command) => self.register_broker(command, change),
            Command::FenceBroker(command) => Ok(self.fence_broker(command, change)),
            Command::AllocateProducerIds(command) => self.allocate_producer_ids(command),
            Command::RaiseFeatureLevel(command) => self.raise_feature_level(command, change),
            Command::StartIncarnation(command) => self.start_incarnation(command, change),
            Command::Tick(_) => Ok(self.tick()),
            Command::CreateTopic(command) => self.create_topic(command, change),
            Command::DeleteTopic(command) => self.delete_topic(command, change),
            Command::CreatePartitions(command) => self.create_partitions(command, change),
            Command::AlterConfigs(command) => self.alter_configs(command, change),
            Command::ClaimGroup(command) => self.claim_group(command, change),
            Command::CompleteGeneration(command) => self.complete_generation(command, change),
            Command::DeleteGroups(command) => Ok(self.delete_groups(command, change)),
            Command::CommitOffsets(command) => self.commit_offsets(command, change),
            Command::DeleteOffsets(command) => self.delete_offsets(command),
            Command::ExpireOffsets(command) => Ok(self.expire_offsets(command, change)),
        }
    }
}
