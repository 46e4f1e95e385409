//! Offset commits that come late: of a coordinator that has lost its claim, and of a generation that is
//! over.
//!
//! A node alone sends none: its coordinator checks generations in memory, and its claims end with it. So
//! they are made here, and proposed to the metadata of the present life. Each must be refused.

use bytes::Bytes;
use tidemill_base::{GroupEpoch, GroupGeneration, Offset, PartitionIndex};
use tidemill_metadata_state::command::{
    ClaimGroup, CommitOffsets, Committer, CompleteGeneration, Generation, Member, OffsetCommit,
};
use tidemill_metadata_state::{Group, MetadataState, Outcome, Refusal};

use super::{Clients, LASTING_TOPICS};
use crate::world::lives::Life;

/// A group that no client joins, so that there is always one to try.
const ZOMBIE_GROUP: &str = "zombies";
/// An offset that no client commits.
const LATE_OFFSET: Offset = Offset(i64::MAX);

/// Begins a generation of the group of zombies, and tries late commits against every group.
pub async fn attempt(clients: &Clients, life: &Life) {
    let metadata = &life.node.broker().metadata;
    if begin_generation(life).await.is_none() {
        return;
    }
    for (epoch_age, generation_age) in [(1, 0), (0, 1)] {
        let late = metadata.with_state(|state| late_commits(state, epoch_age, generation_age));
        for commit in late {
            let group = commit.group.clone();
            match metadata.propose(commit).await {
                Ok(Outcome::Offsets(_)) => clients.history.violation(format!(
                    "P5: group {group} took offsets of an earlier coordinator or generation"
                )),
                Ok(Outcome::Refused(
                    Refusal::CoordinatorFenced
                    | Refusal::OtherGeneration(_)
                    | Refusal::UnknownMember,
                )) => clients.rare_events.add("late offsets refused", 1),
                // Not committed, or the group is gone meanwhile.
                _ => {}
            }
        }
    }
}

/// Claims the group of zombies for the node and completes its next generation.
async fn begin_generation(life: &Life) -> Option<()> {
    let broker = life.node.broker();
    let group = ZOMBIE_GROUP.to_owned();
    let claim = ClaimGroup { group: group.clone(), broker: broker.id, epoch: broker.epoch };
    let Ok(Outcome::Claimed { epoch, group: known }) = broker.metadata.propose(claim).await else {
        return None;
    };
    let generation = Generation {
        generation: GroupGeneration(known.generation_number().0 + 1),
        protocol_type: "sim".to_owned(),
        protocol: Some("sim".to_owned()),
        leader: Some("zombie".to_owned()),
        members: vec![zombie()],
    };
    let completed = broker.metadata.propose(CompleteGeneration { group, epoch, generation }).await;
    matches!(completed, Ok(Outcome::Done)).then_some(())
}

fn zombie() -> Member {
    Member {
        member_id: "zombie".to_owned(),
        instance_id: None,
        client_id: "sim".to_owned(),
        client_host: "sim".to_owned(),
        rebalance_timeout_ms: 1_000,
        session_timeout_ms: 1_000,
        subscription: Bytes::new(),
        assignment: Bytes::new(),
    }
}

/// For each group with members what one of them would commit, had it missed so many claims and
/// generations.
fn late_commits(state: &MetadataState, epoch_age: u64, generation_age: i32) -> Vec<CommitOffsets> {
    let Some(topic) = state.topic(LASTING_TOPICS[0].0).map(|topic| topic.id) else {
        return Vec::new();
    };
    let late = |(name, group): (&str, &Group)| {
        let member = group.generation.as_ref()?.members.first()?;
        Some(CommitOffsets {
            group: name.to_owned(),
            epoch: GroupEpoch(group.claim.epoch.0.checked_sub(epoch_age)?),
            committer: Some(Committer {
                generation: GroupGeneration(group.generation_number().0 - generation_age),
                member_id: member.member_id.clone(),
            }),
            offsets: vec![OffsetCommit {
                topic,
                partition: PartitionIndex(0),
                offset: LATE_OFFSET,
                leader_epoch: None,
                metadata: String::new(),
            }],
        })
    };
    state.groups().filter_map(late).collect()
}
