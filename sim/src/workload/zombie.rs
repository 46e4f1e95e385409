//! Commands that must be refused: from below a floor, folds of what has changed, and late offsets.
//!
//! In one process they would not arise; in a cluster late messages and paused processes bring them. So
//! they are made here, and proposed to the metadata of the present life.

use std::time::Duration;

use bytes::Bytes;
use tidemill_base::{
    BatchFacts, FileId, FileNumber, LaneId, LaneKey, LaneSequence, Location, ObjectId, TimestampMs,
};
use tidemill_metadata_state::command::{CommitObject, Condemn};
use tidemill_metadata_state::fold::{self, FoldPolicy};
use tidemill_metadata_state::outcome::FoldOutcome;
use tidemill_metadata_state::{MetadataState, Outcome};

use super::{Clients, late_offsets};
use crate::world::lives::Life;

/// A lane that no writer of the node uses.
const ZOMBIE_LANE: LaneId = LaneId(77);

/// Tries what must be refused, until the run ends.
pub async fn run(clients: Clients) {
    let mut sequence = 0;
    while !clients.is_ending() {
        let pause = clients.chance.between(100, 600);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let Some(life) = clients.lives.current() else { continue };
        sequence += 10;
        let tried = async {
            condemned_commit(&clients, &life, sequence).await;
            stale_fold(&clients, &life).await;
            late_offsets::attempt(&clients, &life).await;
        };
        tokio::select! {
            biased;
            () = life.ended.wait() => {}
            () = tried => {}
        }
    }
}

/// Condemns a lane up to a sequence and proposes an object below it.
async fn condemned_commit(clients: &Clients, life: &Life, sequence: u64) {
    let broker = life.node.broker();
    let lane = LaneKey { broker: broker.id, epoch: broker.epoch, lane: ZOMBIE_LANE };
    let floor = LaneSequence(sequence);
    if broker.metadata.propose(Condemn { lane, floor }).await.is_err() {
        return;
    }
    let partition = broker.view.projection().topics().find_map(|t| t.partitions.first().copied());
    let Some(partition) = partition else { return };
    let incarnation = broker.metadata.with_state(MetadataState::incarnation);
    let number = FileNumber(u32::try_from(sequence).unwrap_or(1));
    let file = FileId { incarnation, lane, number, sequence: 0 };
    let facts = BatchFacts {
        partition,
        position: 64,
        length: 100,
        record_count: 1,
        max_timestamp: TimestampMs(0),
        producer: None,
        transactional: false,
    };
    let commit = CommitObject {
        object: ObjectId { incarnation, lane, sequence: floor },
        location: Location { file, position: 0, length: 164 },
        skips: Vec::new(),
        outcomes_received_up_to: LaneSequence(0),
        batches: vec![facts],
    };
    if let Ok(Outcome::Object(_)) = broker.metadata.propose(commit).await {
        clients.history.violation("an object below its lane's floor was committed");
    } else {
        clients.rare_events.add("condemned commit", 1);
    }
}

/// Folds the same extents twice: the second fold names extents that are there no more.
async fn stale_fold(clients: &Clients, life: &Life) {
    let broker = life.node.broker();
    let policy = FoldPolicy { extents_waiting_max: 0, index_extents_max: 64, plans_max: 1 };
    let plans = broker.metadata.with_state(|state| fold::plan(state, &policy));
    let Some(plan) = plans.into_iter().next() else { return };
    let lane = LaneKey { broker: broker.id, epoch: broker.epoch, lane: LaneId::OBJECTS };
    let incarnation = broker.metadata.with_state(MetadataState::incarnation);
    for again in [false, true] {
        let sequence = LaneSequence((1 << 40) + clients.chance.below(1 << 40));
        let index = ObjectId { incarnation, lane, sequence };
        let Some(bytes) = encode(index, &plan) else { return };
        let Some(location) = clients.lives.put_object(index, bytes).await else { return };
        for command in plan.commands(index, location) {
            let Ok(Outcome::Folds(folds)) = broker.metadata.propose(command).await else { return };
            if again && folds.contains(&FoldOutcome::Folded) {
                clients.history.violation("extents that are folded already were folded again");
            }
            if folds.contains(&FoldOutcome::Changed) {
                clients.rare_events.add("fold refused", 1);
            }
        }
    }
}

fn encode(index: ObjectId, plan: &fold::FoldPlan) -> Option<Bytes> {
    let mut builder = tidemill_storage_format::IndexObjectBuilder::new(index, plan.file);
    for planned in &plan.runs {
        builder.push(planned.run.partition, &planned.extents).ok()?;
    }
    Some(builder.finish().ok()?.bytes)
}
