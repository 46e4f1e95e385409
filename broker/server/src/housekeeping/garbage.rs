//! Garbage: files that nothing reaches any more.

use std::time::Duration;

use tidemill_base::AppliedIndex;
use tidemill_metadata_state::command::ForgetFiles;
use tidemill_metadata_state::garbage;
use tidemill_storage_store::GarbageCollector;

use crate::broker::Broker;

/// Files deleted in one go.
const FILES_MAX: usize = 64;
/// The grace on a full disk: that of fetches which are just opening the file. Files that are open stay
/// readable.
const GRACE_WHEN_LOW: Duration = Duration::from_secs(1);

/// How old garbage must be.
pub(super) fn grace(broker: &Broker) -> Duration {
    match broker.is_space_low() {
        true => GRACE_WHEN_LOW.min(broker.config.gc_grace),
        false => broker.config.gc_grace,
    }
}

/// Deletes what has been unreachable for its grace and whose freeing is saved.
pub(super) async fn collect(broker: &Broker, collector: &GarbageCollector) {
    let saved = broker.metadata.metrics().saved_index.load(std::sync::atomic::Ordering::Acquire);
    loop {
        // Asked each time: room may have come back since the files before were deleted.
        let grace_ms = i64::try_from(grace(broker).as_millis()).unwrap_or(i64::MAX);
        let files = broker.metadata.with_state(|state| {
            garbage::plan(state, state.time(), grace_ms, AppliedIndex(saved), FILES_MAX)
        });
        if files.is_empty() {
            return;
        }
        let planned = files.len();
        let gone = collector.delete(files).await;
        let deleted = gone.len();
        if let Err(error) = broker.metadata.propose(ForgetFiles { files: gone }).await {
            tracing::warn!(%error, "deleted files are forgotten later");
            return;
        }
        tracing::info!(deleted, "garbage deleted");
        if deleted < planned {
            return;
        }
    }
}
