//! Hooks of benchmarks and tests, only with the cargo feature `hurt`: a disk whose syncs take longer,
//! and metadata that is not saved, so that a start has much to replay.
//!
//! They are set by the environment:
//! - `TIDEMILL_HURT_LOG_SYNC_MS`: every sync of a log file takes so much longer;
//! - `TIDEMILL_HURT_METADATA_SYNC_MS`: every sync of the metadata log does;
//! - `TIDEMILL_HURT_HOLD_SAVES=1`: applied state is not saved.

use std::env;
use std::sync::Arc;

use tidemill_appendfile::SharedDisk;
use tidemill_appendfile::twin::{FaultyDisk, Toxic, ToxicKind, Toxics};
use tidemill_broker_server::node::NodeConfig;

/// The disk, slowed as the environment says.
pub(super) fn slowed(disk: SharedDisk) -> SharedDisk {
    let toxics = Toxics::new(0);
    let mut is_slowed = false;
    for (name, folder) in
        [("TIDEMILL_HURT_LOG_SYNC_MS", "log/"), ("TIDEMILL_HURT_METADATA_SYNC_MS", "meta/")]
    {
        let Some(delay_ms) = env::var(name).ok().and_then(|value| value.parse().ok()) else {
            continue;
        };
        tracing::warn!(delay_ms, folder, "syncs are slowed down for a test");
        toxics.add(Toxic::always(name, ToxicKind::DelaySync { delay_ms }).only_at(folder));
        is_slowed = true;
    }
    if is_slowed { Arc::new(FaultyDisk::new(disk, toxics)) } else { disk }
}

/// The configuration, with saves held back if the environment says so.
pub(super) fn held_back(mut config: NodeConfig) -> NodeConfig {
    if env::var_os("TIDEMILL_HURT_HOLD_SAVES").is_some_and(|value| value == "1") {
        tracing::warn!("applied state is not saved, for a test");
        config.raft.state_saves_held_back = true;
    }
    config
}
