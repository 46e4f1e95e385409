//! What a broker looks after from time to time: retention, folding, garbage, orphans, room on the disk.
//!
//! The metadata's planners decide; this carries out, a bounded amount each round. While the clock is
//! not believed nothing that deletes is proposed. A round that fails is tried again in the next.

mod folding;
mod garbage;
mod orphans;
mod retention;
mod room;

use std::sync::{Arc, Weak};

use tidemill_metadata_state::command::Tick;
use tidemill_storage_store::GarbageCollector;
use tokio::time::Instant;

use crate::broker::Broker;
use crate::groups;
use crate::node::NodePorts;
use folding::Folding;
use orphans::Orphans;

/// Starts the tasks; they end when the broker is gone.
pub(crate) fn start(broker: &Arc<Broker>, collector: GarbageCollector, ports: &NodePorts) {
    let rounds = rounds(Arc::downgrade(broker), collector, Arc::clone(&ports.objects));
    ports.spawn.task("housekeeping", Box::pin(rounds));
    if let Some(space) = &ports.space {
        let watch = room::watch(Arc::downgrade(broker), Arc::clone(space));
        ports.spawn.dedicated("room", Box::pin(watch));
    }
}

async fn rounds(
    broker: Weak<Broker>,
    collector: GarbageCollector,
    objects: tidemill_storage_store::SharedObjects,
) {
    let Some((interval, view)) = broker
        .upgrade()
        .map(|broker| (broker.config.housekeeping_interval, Arc::clone(&broker.view)))
    else {
        return;
    };
    let mut work = Work {
        collector,
        folding: Folding::new(objects, view.fold_limits()),
        retained_at: Instant::now(),
        orphans: Orphans::new(),
    };
    let mut next_round = Instant::now() + interval;
    loop {
        // In one task with the rounds: no fold may be under way while orphans are looked for.
        let is_round = tokio::select! {
            biased;
            () = tokio::time::sleep_until(next_round) => true,
            () = work.folding.is_needed(&view) => false,
        };
        let Some(broker) = broker.upgrade() else { return };
        if is_round {
            work.round(&broker).await;
            next_round = Instant::now() + interval;
        } else {
            work.folding.run(&broker).await;
        }
    }
}

/// What is looked after.
struct Work {
    collector: GarbageCollector,
    folding: Folding,
    retained_at: Instant,
    orphans: Orphans,
}

impl Work {
    async fn round(&mut self, broker: &Arc<Broker>) {
        if let Err(error) = broker.metadata.propose(Tick {}).await {
            tracing::warn!(%error, "housekeeping waits: the metadata does not answer");
            return;
        }
        self.folding.run(broker).await;
        groups::upkeep::run(broker).await;
        if broker.metadata.time_stands_still() {
            return;
        }
        let retention_is_due = self.retained_at.elapsed() >= broker.config.retention_interval;
        if retention_is_due || broker.is_space_low() {
            self.retained_at = Instant::now();
            retention::run(broker).await;
        }
        garbage::collect(broker, &self.collector).await;
        self.orphans.run(broker, &self.collector).await;
    }
}
