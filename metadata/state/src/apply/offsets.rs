//! Committing, deleting and expiring the offsets of groups.

use std::collections::BTreeMap;

use tidemill_base::twins::{self, Twin};
use tidemill_base::{GroupEpoch, PartitionIndex, TopicId};

use super::Change;
use super::commit_object::limit;
use crate::command::{CommitOffsets, DeleteOffsets, ExpireOffsets, OffsetCommit};
use crate::groups::{CommittedOffset, Group};
use crate::outcome::Outcome;
use crate::refusal::Refusal;
use crate::state::MetadataState;

impl MetadataState {
    pub(super) fn commit_offsets(
        &mut self,
        command: &CommitOffsets,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        let group = self.groups.get(&command.group).ok_or(Refusal::UnknownGroup)?;
        if !twins::is_on(Twin::OffsetsNotFenced) {
            check_claim(group, command.epoch)?;
            group.admits(command.committer.as_ref())?;
        }
        let results: Vec<Result<(), Refusal>> =
            command.offsets.iter().map(|offset| self.check_offset(offset)).collect();
        let accepted = command.offsets.iter().zip(&results).filter(|(_, result)| result.is_ok());
        self.store_offsets(&command.group, accepted.map(|(offset, _)| offset), change)?;
        Ok(Outcome::Offsets(results))
    }

    /// Whether the offset may be committed, as far as that is its own matter.
    fn check_offset(&self, commit: &OffsetCommit) -> Result<(), Refusal> {
        if commit.metadata.len() > Group::OFFSET_METADATA_BYTES_MAX {
            return Err(Refusal::OffsetMetadata { max: Group::OFFSET_METADATA_BYTES_MAX as u64 });
        }
        let topic = self.topics.get(commit.topic).ok_or(Refusal::UnknownTopic)?;
        let index = usize::try_from(commit.partition.0).map_err(|_| Refusal::UnknownPartition)?;
        if index >= topic.partitions.len() {
            return Err(Refusal::UnknownPartition);
        }
        Ok(())
    }

    /// Stores all of the offsets, or none where they would pass a limit: a commit is atomic.
    fn store_offsets<'a>(
        &mut self,
        name: &str,
        commits: impl Iterator<Item = &'a OffsetCommit>,
        change: &mut Change,
    ) -> Result<(), Refusal> {
        let group = self.groups.get_mut(name).ok_or(Refusal::UnknownGroup)?;
        let committed_at = change.now();
        let offset = |commit: &OffsetCommit| CommittedOffset {
            offset: commit.offset,
            leader_epoch: commit.leader_epoch,
            metadata: commit.metadata.clone(),
            committed_at,
        };
        // Of several for one partition the last counts.
        let stored: BTreeMap<(TopicId, PartitionIndex), CommittedOffset> =
            commits.map(|commit| ((commit.topic, commit.partition), offset(commit))).collect();
        let (mut offsets, mut bytes) = (self.offsets, self.group_bytes);
        for (key, offset) in &stored {
            match group.offsets.get(key) {
                Some(known) => bytes -= known.weight(),
                None => offsets += 1,
            }
            bytes += offset.weight();
        }
        let limits = &self.cluster.limits;
        limit("committed offsets", offsets, limits.offsets_max)?;
        limit("bytes of groups", bytes, limits.group_bytes_max)?;
        (self.offsets, self.group_bytes) = (offsets, bytes);
        for (key, offset) in stored {
            group.offsets.insert(key, offset);
            self.changed.offset(name, key);
        }
        Ok(())
    }

    pub(super) fn delete_offsets(&mut self, command: &DeleteOffsets) -> Result<Outcome, Refusal> {
        let name = &command.group;
        let group = self.groups.get_mut(name).ok_or(Refusal::UnknownGroup)?;
        check_claim(group, command.epoch)?;
        let mut results = Vec::with_capacity(command.partitions.len());
        for key in &command.partitions {
            if let Some(gone) = group.offsets.remove(key) {
                self.offsets -= 1;
                self.group_bytes -= gone.weight();
                self.changed.offset(name, *key);
            }
            let topic = self.topics.get(key.0);
            let known = topic.is_some_and(|topic| {
                usize::try_from(key.1.0).is_ok_and(|index| index < topic.partitions.len())
            });
            results.push(if known { Ok(()) } else { Err(Refusal::UnknownPartition) });
        }
        Ok(Outcome::Offsets(results))
    }

    pub(super) fn expire_offsets(
        &mut self,
        command: &ExpireOffsets,
        change: &mut Change,
    ) -> Outcome {
        let (now, retention_ms) = (change.now(), command.retention_ms.max(0));
        let mut count = 0;
        for name in &command.groups {
            let Some(group) = self.groups.get_mut(name) else { continue };
            let expired: Vec<(TopicId, PartitionIndex)> = group
                .offsets
                .iter()
                .filter(|(_, offset)| group.has_expired(offset, now, retention_ms))
                .map(|(key, _)| *key)
                .collect();
            for key in &expired {
                self.group_bytes -= group.offsets.remove(key).map_or(0, |gone| gone.weight());
                self.changed.offset(name, *key);
            }
            self.offsets -= expired.len() as u64;
            count += expired.len();
            if group.is_spent(now, retention_ms) {
                self.remove_group(name, change);
            }
        }
        Outcome::Expired(count)
    }

    /// Drops what any group committed for a topic that is gone.
    pub(super) fn drop_offsets_of(&mut self, topic: TopicId) {
        let all = (topic, PartitionIndex(i32::MIN))..=(topic, PartitionIndex(i32::MAX));
        for (name, group) in &mut self.groups {
            let keys: Vec<_> = group.offsets.range(all.clone()).map(|(key, _)| *key).collect();
            for key in keys {
                self.group_bytes -= group.offsets.remove(&key).map_or(0, |gone| gone.weight());
                self.offsets -= 1;
                self.changed.offset(name, key);
            }
        }
    }
}

fn check_claim(group: &Group, epoch: GroupEpoch) -> Result<(), Refusal> {
    if group.claim.epoch == epoch { Ok(()) } else { Err(Refusal::CoordinatorFenced) }
}
