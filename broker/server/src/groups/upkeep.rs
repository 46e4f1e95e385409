//! What groups need from time to time: coordinators for abandoned ones, expiry, memory freed.

use tidemill_metadata_state::command::ExpireOffsets;
use tidemill_metadata_state::offsets;

use super::{Absent, Groups};
use crate::broker::Broker;

/// Abandoned groups claimed in one round.
const CLAIMS_MAX: usize = 500;
/// Groups named by one command.
const GROUPS_PER_COMMAND: usize = 200;
/// Commands of one round.
const COMMANDS_MAX: usize = 50;
/// After how long a group is forgotten that never had a generation or an offset, in milliseconds.
const HOLLOW_MS: i64 = 600_000;

/// One round.
pub(crate) async fn run(broker: &Broker) {
    claim_abandoned(broker).await;
    broker.groups.unload_idle();
    if broker.metadata.time_stands_still() {
        return;
    }
    let retention_ms = broker.offsets_retention_ms();
    expire(broker, retention_ms, |broker| {
        broker.metadata.with_state(|state| {
            offsets::expired(state, state.time(), retention_ms, GROUPS_PER_COMMAND)
        })
    })
    .await;
    expire(broker, HOLLOW_MS, hollow).await;
}

/// Members of a group whose coordinator is gone may be gone too; somebody has to find out.
async fn claim_abandoned(broker: &Broker) {
    let abandoned: Vec<String> = broker
        .metadata
        .with_state(|state| state.groups_abandoned().take(CLAIMS_MAX).map(str::to_owned).collect());
    for group in abandoned {
        if let Err(code) = broker.groups.coordinator(&group, Absent::Refuse).await {
            tracing::debug!(group, %code, "abandoned group not claimed now");
        }
    }
}

/// Groups that requests brought into being and that hold nothing. An offset that is committed after
/// this look is younger than the limit of the command, so that it and its group stay.
fn hollow(broker: &Broker) -> Vec<String> {
    broker.metadata.with_state(|state| {
        let now = state.time();
        let is_old = |since_ms: i64| now.0.saturating_sub(since_ms) >= HOLLOW_MS;
        state
            .groups()
            .filter(|(_, group)| group.generation.is_none() && group.offsets.is_empty())
            .filter(|(_, group)| group.empty_since.is_some_and(|since| is_old(since.0)))
            .map(|(name, _)| name.to_owned())
            .take(GROUPS_PER_COMMAND)
            .collect()
    })
}

async fn expire(broker: &Broker, retention_ms: i64, plan: impl Fn(&Broker) -> Vec<String>) {
    for _ in 0..COMMANDS_MAX {
        let mut groups = plan(broker);
        groups.retain(|group| !is_in_use(&broker.groups, group));
        if groups.is_empty() {
            return;
        }
        let count = groups.len();
        match broker.metadata.propose(ExpireOffsets { retention_ms, groups }).await {
            Ok(outcome) => tracing::debug!(count, ?outcome, "looked for expired offsets"),
            Err(error) => {
                tracing::warn!(%error, "expiry of offsets waits");
                return;
            }
        }
    }
}

/// Whether members are about to join a group that the metadata believes to be without any.
fn is_in_use(groups: &Groups, group: &str) -> bool {
    groups.held(group).is_some_and(|held| !held.is_idle())
}
