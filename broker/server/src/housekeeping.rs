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
    let Some(interval) = broker.upgrade().map(|broker| broker.config.housekeeping_interval) else {
        return;
    };
    let mut folding = Folding::new(objects);
    let mut retained_at = tokio::time::Instant::now();
    let mut orphans = Orphans::new();
    loop {
        tokio::time::sleep(interval).await;
        let Some(broker) = broker.upgrade() else { return };
        if let Err(error) = broker.metadata.propose(Tick {}).await {
            tracing::warn!(%error, "housekeeping waits: the metadata does not answer");
            continue;
        }
        folding.run(&broker).await;
        groups::upkeep::run(&broker).await;
        if broker.metadata.time_stands_still() {
            continue;
        }
        if retained_at.elapsed() >= broker.config.retention_interval || broker.is_space_low() {
            retained_at = tokio::time::Instant::now();
            retention::run(&broker).await;
        }
        garbage::collect(&broker, &collector).await;
        orphans.run(&broker, &collector).await;
    }
}
