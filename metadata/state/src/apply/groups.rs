//! Claiming groups, completing generations, deleting groups.

use std::collections::BTreeSet;

use tidemill_base::GroupEpoch;

use super::Change;
use super::commit_object::limit;
use crate::command::{ClaimGroup, CompleteGeneration, DeleteGroups};
use crate::event::Event;
use crate::groups::{Claim, CommittedOffset, Group};
use crate::outcome::Outcome;
use crate::refusal::Refusal;
use crate::state::MetadataState;

impl MetadataState {
    pub(super) fn claim_group(
        &mut self,
        command: &ClaimGroup,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        let ClaimGroup { group: name, broker, epoch: broker_epoch } = command;
        if !self.brokers.is_live(*broker, *broker_epoch) {
            return Err(Refusal::BrokerFenced);
        }
        if name.is_empty() {
            return Err(Refusal::Malformed("a group has a name"));
        }
        if let Some(group) = self.groups.get(name) {
            let claim = &group.claim;
            if claim.broker == *broker && claim.broker_epoch == *broker_epoch {
                let group = Box::new(group.clone());
                return Ok(Outcome::Claimed { epoch: group.claim.epoch, group });
            }
            if self.brokers.is_live(claim.broker, claim.broker_epoch) {
                return Err(Refusal::GroupHeld { broker: claim.broker, epoch: claim.broker_epoch });
            }
        } else {
            let limits = &self.cluster.limits;
            limit("groups", self.groups.len() as u64 + 1, limits.groups_max.into())?;
            let bytes = self.group_bytes + Group::weight(name, None);
            limit("bytes of groups", bytes, limits.group_bytes_max)?;
            self.group_bytes = bytes;
        }
        let epoch = GroupEpoch(self.cluster.next_group_epoch);
        self.cluster.next_group_epoch += 1;
        let claim = Claim { broker: *broker, broker_epoch: *broker_epoch, epoch };
        let now = change.now();
        let group =
            self.groups.entry(name.clone()).or_insert_with(|| Group::new(claim.clone(), now));
        group.claim = claim;
        self.changed.groups.insert(name.clone());
        change.events.push(Event::GroupClaimed {
            group: name.clone(),
            broker: *broker,
            broker_epoch: *broker_epoch,
            epoch,
        });
        Ok(Outcome::Claimed { epoch, group: Box::new(group.clone()) })
    }

    pub(super) fn complete_generation(
        &mut self,
        command: &CompleteGeneration,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        let group = self.groups.get_mut(&command.group).ok_or(Refusal::UnknownGroup)?;
        if group.claim.epoch != command.epoch {
            return Err(Refusal::CoordinatorFenced);
        }
        let generation = &command.generation;
        if group.generation.as_ref() == Some(generation) {
            return Ok(Outcome::Done);
        }
        let amends = group.generation.as_ref().is_some_and(|known| generation.amends(known));
        if generation.generation <= group.generation_number() && !amends {
            return Err(Refusal::OtherGeneration(generation.generation));
        }
        let name = &command.group;
        let bytes = self.group_bytes - Group::weight(name, group.generation.as_ref())
            + Group::weight(name, Some(generation));
        if !generation.members.is_empty() {
            limit("bytes of groups", bytes, self.cluster.limits.group_bytes_max)?;
        }
        self.group_bytes = bytes;
        let was_empty = group.is_empty();
        group.generation = Some(generation.clone());
        group.empty_since = match (group.is_empty(), was_empty) {
            (false, _) => None,
            (true, true) => group.empty_since,
            (true, false) => Some(change.now()),
        };
        self.changed.groups.insert(command.group.clone());
        Ok(Outcome::Done)
    }

    pub(super) fn delete_groups(&mut self, command: &DeleteGroups, change: &mut Change) -> Outcome {
        let delete = |name: &String| {
            let group = self.groups.get(name).ok_or(Refusal::UnknownGroup)?;
            if !group.is_empty() {
                return Err(Refusal::GroupNotEmpty);
            }
            self.remove_group(name, change);
            Ok(())
        };
        Outcome::GroupsDeleted(command.groups.iter().map(delete).collect())
    }

    /// Takes a group away with all its offsets.
    pub(super) fn remove_group(&mut self, name: &str, change: &mut Change) {
        let Some(group) = self.groups.remove(name) else { return };
        self.offsets -= group.offsets.len() as u64;
        let offsets: u64 = group.offsets.values().map(CommittedOffset::weight).sum();
        self.group_bytes -= Group::weight(name, group.generation.as_ref()) + offsets;
        let keys: BTreeSet<_> = group.offsets.into_keys().collect();
        self.changed.offsets.entry(name.to_owned()).or_default().extend(keys);
        self.changed.groups.insert(name.to_owned());
        change.events.push(Event::GroupDeleted { group: name.to_owned() });
    }
}
