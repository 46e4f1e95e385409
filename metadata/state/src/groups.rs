//! Consumer groups: who coordinates them, their last completed generation, their offsets.
//!
//! Not here: rebalances under way, heartbeats, sessions. Those are the coordinator's, in memory.

use std::collections::BTreeMap;

use tidemill_base::{
    BrokerEpoch, BrokerId, GroupEpoch, GroupGeneration, LeaderEpoch, Offset, PartitionIndex,
    TimestampMs, TopicId,
};

use crate::codec::encoded;
use crate::command::{Committer, Generation, Member};
use crate::refusal::Refusal;

encoded! {
    /// An offset that a group committed.
    pub struct CommittedOffset {
        /// The next offset to read.
        pub offset: Offset,
        /// The leader epoch of the record before it, if the client knew it.
        pub leader_epoch: Option<LeaderEpoch>,
        /// What the client wanted to be told again.
        pub metadata: String,
        /// The state time of the commit.
        pub committed_at: TimestampMs,
    }

    /// The claim of a coordinator.
    pub struct Claim {
        /// The coordinator.
        pub broker: BrokerId,
        /// Its registration; once that has ended, another may claim the group.
        pub broker_epoch: BrokerEpoch,
        /// The epoch under which the group's commands are accepted.
        pub epoch: GroupEpoch,
    }
}

/// A consumer group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its coordinator, living or not.
    pub claim: Claim,
    /// Its last completed generation; `None` before the first.
    pub generation: Option<Generation>,
    /// Since when it has had no members; `None` while it has some.
    pub empty_since: Option<TimestampMs>,
    /// What it has committed.
    pub offsets: BTreeMap<(TopicId, PartitionIndex), CommittedOffset>,
}

impl Group {
    /// The longest metadata of one committed offset, in bytes (`offset.metadata.max.bytes`).
    pub const OFFSET_METADATA_BYTES_MAX: usize = 4096;

    /// How long a group that holds nothing is kept at most, in milliseconds: an hour.
    pub const SPENT_MS: i64 = 3_600_000;

    /// A group just claimed, without members or offsets.
    pub(crate) fn new(claim: Claim, now: TimestampMs) -> Self {
        Self { claim, generation: None, empty_since: Some(now), offsets: BTreeMap::new() }
    }

    /// Whether the last completed generation left it without members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.generation.as_ref().is_none_or(|generation| generation.members.is_empty())
    }

    /// Whether it may commit as `committer`.
    pub(crate) fn admits(&self, committer: Option<&Committer>) -> Result<(), Refusal> {
        let Some(committer) = committer else {
            return if self.is_empty() { Ok(()) } else { Err(Refusal::UnknownMember) };
        };
        let known = self.generation.as_ref().ok_or(Refusal::UnknownMember)?;
        if !known.members.iter().any(|member| member.member_id == committer.member_id) {
            return Err(Refusal::UnknownMember);
        }
        if known.generation != committer.generation {
            return Err(Refusal::OtherGeneration(committer.generation));
        }
        Ok(())
    }

    /// Whether an offset has expired at `now`: kept for `retention_ms` since its commit, and since
    /// the group has been without members. Offsets of a group with members never expire.
    pub(crate) fn has_expired(
        &self,
        offset: &CommittedOffset,
        now: TimestampMs,
        retention_ms: i64,
    ) -> bool {
        self.empty_since.is_some_and(|since| {
            now.0.saturating_sub(offset.committed_at.0.max(since.0)) >= retention_ms
        })
    }

    /// Whether nothing is lost when it goes: no members, no offsets, for `retention_ms` or
    /// [`Self::SPENT_MS`], whichever is shorter.
    pub(crate) fn is_spent(&self, now: TimestampMs, retention_ms: i64) -> bool {
        let kept_ms = retention_ms.min(Self::SPENT_MS);
        self.offsets.is_empty()
            && self.empty_since.is_some_and(|since| now.0.saturating_sub(since.0) >= kept_ms)
    }

    /// The generation's number, or -1 before the first.
    #[must_use]
    pub fn generation_number(&self) -> GroupGeneration {
        self.generation.as_ref().map_or(GroupGeneration(-1), |generation| generation.generation)
    }

    /// What the group without its offsets counts against the limit of groups, in bytes.
    pub(crate) fn weight(name: &str, generation: Option<&Generation>) -> u64 {
        let members = generation.map_or(0, Generation::weight);
        (2 * name.len() + size_of::<Self>()) as u64 + members
    }

    pub(crate) fn approximate_bytes(&self) -> usize {
        let members = self.generation.as_ref().map_or(0, Generation::weight);
        let offsets: u64 = self.offsets.values().map(CommittedOffset::weight).sum();
        size_of::<Self>() + (members + offsets) as usize
    }
}

impl Generation {
    fn weight(&self) -> u64 {
        let member = |member: &Member| {
            size_of::<Member>()
                + member.member_id.len()
                + member.instance_id.as_ref().map_or(0, String::len)
                + member.client_id.len()
                + member.client_host.len()
                + member.subscription.len()
                + member.assignment.len()
        };
        self.members.iter().map(member).sum::<usize>() as u64
    }
}

impl CommittedOffset {
    /// What it counts against the limit of groups, in bytes.
    pub(crate) fn weight(&self) -> u64 {
        (size_of::<Self>() + size_of::<(TopicId, PartitionIndex)>() + self.metadata.len()) as u64
    }
}
