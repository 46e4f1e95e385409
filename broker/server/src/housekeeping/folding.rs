//! Folding: many extents of a file become one entry per partition and an index object.

use std::sync::atomic::{AtomicU64, Ordering};

use std::time::Duration;

use bytes::Bytes;
use tidemill_base::{LaneId, LaneKey, LaneSequence, ObjectId};
use tidemill_metadata_state::Outcome;
use tidemill_metadata_state::fold::{self, FoldPlan, FoldPolicy};
use tidemill_metadata_state::outcome::FoldOutcome;
use tidemill_storage_format::{FormatError, IndexObjectBuilder};
use tidemill_storage_store::SharedObjects;

use tokio::time::Instant;

use crate::broker::Broker;
use crate::view::{FoldLimits, View};

/// Plans carried out in one round.
const PLANS_MAX: usize = 32;
/// How long folding waits after it came to nothing, however much waits for it.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Writes index objects and proposes folds.
pub(super) struct Folding {
    objects: SharedObjects,
    /// The last sequence used in the broker's object lane: it only rises.
    sequence: AtomicU64,
    policy: FoldPolicy,
    /// Nothing is folded before.
    not_before: Instant,
}

impl Folding {
    pub(super) fn new(objects: SharedObjects, limits: FoldLimits) -> Self {
        let policy = FoldPolicy { extents_waiting_max: limits.fold_above, ..FoldPolicy::default() };
        Self { objects, sequence: AtomicU64::new(0), policy, not_before: Instant::now() }
    }

    /// Returns when folding should begin without waiting for its round.
    pub(super) async fn is_needed(&self, view: &View) {
        tokio::time::sleep_until(self.not_before).await;
        view.needs_folding().await;
    }

    pub(super) async fn run(&mut self, broker: &Broker) {
        if let Err(error) = self.fold_what_is_due(broker).await {
            tracing::warn!(%error, "folding waits");
            self.not_before = Instant::now() + PAUSE_AFTER_FAILURE;
        }
    }

    async fn fold_what_is_due(&self, broker: &Broker) -> Result<(), String> {
        let mut done = 0;
        while done < PLANS_MAX {
            let plans = broker.metadata.with_state(|state| fold::plan(state, &self.policy));
            if plans.is_empty() {
                break;
            }
            for plan in plans {
                let folded = self.fold(broker, &plan).await;
                let folded = folded.map_err(|error| format!("file {}: {error}", plan.file))?;
                if folded == 0 {
                    return Err(format!("file {} changed under every run planned", plan.file));
                }
                done += 1;
            }
        }
        Ok(())
    }

    /// Carries out a plan; returns how many runs of it were folded.
    async fn fold(&self, broker: &Broker, plan: &FoldPlan) -> Result<usize, String> {
        let lane = LaneKey { broker: broker.id, epoch: broker.epoch, lane: LaneId::OBJECTS };
        let sequence = self.next_sequence(broker, &lane);
        let incarnation = broker.view.projection().incarnation();
        let index = ObjectId { incarnation, lane, sequence };
        let bytes = encode(index, plan).map_err(|error| error.to_string())?;
        let location =
            self.objects.put(index, vec![bytes]).await.map_err(|error| error.to_string())?;
        let mut folded = 0;
        for command in plan.commands(index, location) {
            let outcome =
                broker.metadata.propose(command).await.map_err(|error| error.to_string())?;
            // The index object is then an orphan, if no command before this one named it.
            if let Outcome::Refused(refusal) = outcome {
                return Err(format!("{index} is refused: {refusal}"));
            }
            if let Outcome::Folds(outcomes) = &outcome {
                let is_folded = |outcome: &&FoldOutcome| **outcome == FoldOutcome::Folded;
                folded += outcomes.iter().filter(is_folded).count();
            }
            tracing::debug!(file = %plan.file, ?outcome, "folded");
        }
        Ok(folded)
    }

    /// A sequence above all that were used and all that are condemned.
    fn next_sequence(&self, broker: &Broker, lane: &LaneKey) -> LaneSequence {
        let floor = broker.metadata.with_state(|state| state.lane_floor(lane)).unwrap_or_default();
        self.sequence.fetch_max(floor.0, Ordering::Relaxed);
        LaneSequence(self.sequence.fetch_add(1, Ordering::Relaxed).saturating_add(1))
    }
}

fn encode(index: ObjectId, plan: &FoldPlan) -> Result<Bytes, FormatError> {
    let mut builder = IndexObjectBuilder::new(index, plan.file);
    for planned in &plan.runs {
        builder.push(planned.run.partition, &planned.extents)?;
    }
    Ok(builder.finish()?.bytes)
}
