//! Records of generations: proposed in order under the group's lock, awaited by a task each.
//!
//! A record is proposed again only while it is the newest of its group, so that an older one never
//! overwrites a newer one. The same again is answered alike.

use std::sync::Arc;
use std::time::Duration;

use tidemill_base::twins::{self, Twin};
use tidemill_broker_logic::groups::{RecordFailure, RecordId};
use tidemill_metadata_raft::{ProposeError, Proposed};
use tidemill_metadata_state::command::{CompleteGeneration, Generation};
use tidemill_metadata_state::{Outcome, Refusal};

use super::Groups;
use super::coordinator::{Coordinator, Held};

/// How often a record is proposed before its members are told to join again.
const ATTEMPTS_MAX: u32 = 5;
/// How long the metadata is left alone between two attempts.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// What an attempt came to.
enum Attempt {
    Ended(Result<(), RecordFailure>),
    /// It may be tried again.
    Again,
    /// The group has expired meanwhile: it has to be claimed again first.
    Gone,
}

impl Coordinator {
    /// Proposes a generation and lets a task await what becomes of it.
    pub(super) fn begin_record(
        self: &Arc<Self>,
        groups: &Groups,
        held: &mut Held,
        id: RecordId,
        generation: Generation,
    ) {
        held.newest_record = Some(id);
        let proposed = self.propose_record(groups, held, &generation);
        let recording = Arc::clone(self).record(id, generation, proposed);
        groups.spawn.task("group record", Box::pin(recording));
    }

    fn propose_record(
        &self,
        groups: &Groups,
        held: &Held,
        generation: &Generation,
    ) -> Result<Proposed, ProposeError> {
        groups.metadata.propose_ordered(CompleteGeneration {
            group: self.name().to_owned(),
            epoch: held.epoch,
            generation: generation.clone(),
        })
    }

    async fn record(
        self: Arc<Self>,
        id: RecordId,
        generation: Generation,
        mut proposed: Result<Proposed, ProposeError>,
    ) {
        if twins::is_on(Twin::AssignedBeforeRecorded) {
            self.act(|held, now_ms| held.group.generation_recorded(now_ms, id, Ok(())));
        }
        let mut result = Err(RecordFailure::Unavailable);
        for _ in 0..ATTEMPTS_MAX {
            match attempt(proposed).await {
                Attempt::Ended(ended) => {
                    result = ended;
                    break;
                }
                Attempt::Again => tokio::time::sleep(RETRY_DELAY).await,
                Attempt::Gone => {
                    if self.reclaim().await.is_err() {
                        tokio::time::sleep(RETRY_DELAY).await;
                    }
                }
            }
            let Some(again) = self.propose_again(id, &generation) else { break };
            proposed = again;
        }
        if let Err(failure) = result {
            let group = self.name();
            tracing::warn!(group, generation = generation.generation.0, ?failure, "not recorded");
        }
        self.act(|held, now_ms| held.group.generation_recorded(now_ms, id, result));
    }

    /// Proposes a record again, unless a newer one stands for it.
    fn propose_again(
        self: &Arc<Self>,
        id: RecordId,
        generation: &Generation,
    ) -> Option<Result<Proposed, ProposeError>> {
        let groups = self.groups.upgrade()?;
        self.act(|held, _| {
            let is_newest = held.newest_record == Some(id) && !held.group.is_dead();
            is_newest.then(|| self.propose_record(&groups, held, generation))
        })
    }
}

async fn attempt(proposed: Result<Proposed, ProposeError>) -> Attempt {
    let outcome = match proposed {
        Ok(proposed) => proposed.await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(Outcome::Done) => Attempt::Ended(Ok(())),
        Ok(Outcome::Refused(Refusal::UnknownGroup)) => Attempt::Gone,
        Ok(Outcome::Refused(
            Refusal::CoordinatorFenced | Refusal::GroupHeld { .. } | Refusal::BrokerFenced,
        ))
        | Err(ProposeError::Closed) => Attempt::Ended(Err(RecordFailure::NotCoordinator)),
        Ok(Outcome::Refused(Refusal::OtherGeneration(_))) => {
            Attempt::Ended(Err(RecordFailure::Unavailable))
        }
        Err(ProposeError::Throttled | ProposeError::NotLeader | ProposeError::Ambiguous) => {
            Attempt::Again
        }
        Ok(_) | Err(ProposeError::TooLarge) => Attempt::Ended(Err(RecordFailure::Refused)),
    }
}
