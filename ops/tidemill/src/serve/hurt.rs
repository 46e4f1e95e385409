//! Hooks of benchmarks and tests, only with the cargo feature `hurt`: a disk whose syncs take longer,
//! and metadata that is not saved, so that a start has much to replay.
//!
//! They are set by the environment:
//! - `TIDEMILL_HURT_LOG_SYNC_MS`: every sync of a log file takes at least so long;
//! - `TIDEMILL_HURT_METADATA_SYNC_MS`: every sync of the metadata log does;
//! - `TIDEMILL_HURT_HOLD_SAVES=1`: applied state is not saved.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use tidemill_appendfile::SharedDisk;
use tidemill_broker_server::node::NodeConfig;

mod padded_disk;

use padded_disk::{PaddedDisk, Padding};

/// The disk, its syncs padded as the environment says.
pub(super) fn slowed(inner: SharedDisk) -> SharedDisk {
    let wanted =
        [("TIDEMILL_HURT_LOG_SYNC_MS", "log/"), ("TIDEMILL_HURT_METADATA_SYNC_MS", "meta/")];
    let mut paddings = Vec::new();
    for (name, folder) in wanted {
        let Some(sync_ms) = env::var(name).ok().and_then(|value| value.parse().ok()) else {
            continue;
        };
        tracing::warn!(sync_ms, folder, "syncs are padded for a test");
        paddings.push(Padding { folder, sync: Duration::from_millis(sync_ms) });
    }
    if paddings.is_empty() { inner } else { Arc::new(PaddedDisk { inner, paddings }) }
}

/// The configuration, with saves held back if the environment says so.
pub(super) fn held_back(mut config: NodeConfig) -> NodeConfig {
    if env::var_os("TIDEMILL_HURT_HOLD_SAVES").is_some_and(|value| value == "1") {
        tracing::warn!("applied state is not saved, for a test");
        config.raft.state_saves_held_back = true;
    }
    config
}
