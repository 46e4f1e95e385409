//! Folding: many extents of a file become one entry per partition and an index object.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tidemill_base::{LaneId, LaneKey, LaneSequence, ObjectId};
use tidemill_metadata_state::Outcome;
use tidemill_metadata_state::fold::{self, FoldPlan, FoldPolicy};
use tidemill_storage_format::{FormatError, IndexObjectBuilder};
use tidemill_storage_store::SharedObjects;

use crate::broker::Broker;

/// Plans carried out in one round.
const PLANS_MAX: usize = 32;

/// Writes index objects and proposes folds.
pub(super) struct Folding {
    objects: SharedObjects,
    /// The last sequence used in the broker's object lane: it only rises.
    sequence: AtomicU64,
    policy: FoldPolicy,
}

impl Folding {
    pub(super) fn new(objects: SharedObjects) -> Self {
        Self { objects, sequence: AtomicU64::new(0), policy: FoldPolicy::default() }
    }

    pub(super) async fn run(&mut self, broker: &Broker) {
        let mut done = 0;
        while done < PLANS_MAX {
            let plans = broker.metadata.with_state(|state| fold::plan(state, &self.policy));
            if plans.is_empty() {
                return;
            }
            for plan in plans {
                if let Err(error) = self.fold(broker, &plan).await {
                    tracing::warn!(file = %plan.file, %error, "folding waits");
                    return;
                }
                done += 1;
            }
        }
    }

    async fn fold(&self, broker: &Broker, plan: &FoldPlan) -> Result<(), String> {
        let lane = LaneKey { broker: broker.id, epoch: broker.epoch, lane: LaneId::OBJECTS };
        let sequence = self.next_sequence(broker, &lane);
        let incarnation = broker.view.projection().incarnation();
        let index = ObjectId { incarnation, lane, sequence };
        let bytes = encode(index, plan).map_err(|error| error.to_string())?;
        let location =
            self.objects.put(index, vec![bytes]).await.map_err(|error| error.to_string())?;
        for command in plan.commands(index, location) {
            let outcome =
                broker.metadata.propose(command).await.map_err(|error| error.to_string())?;
            // The index object is then an orphan, if no command before this one named it.
            if let Outcome::Refused(refusal) = outcome {
                return Err(format!("{index} is refused: {refusal}"));
            }
            tracing::debug!(file = %plan.file, ?outcome, "folded");
        }
        Ok(())
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
