//! Garbage: files that nothing reaches any more, and files that nobody ever knew.

use std::collections::BTreeSet;

use tidemill_base::{AppliedIndex, FileId, LaneKey, LaneSequence};
use tidemill_metadata_state::command::ForgetFiles;
use tidemill_metadata_state::garbage;
use tidemill_storage_store::{Floor, GarbageCollector};

use crate::broker::Broker;

/// Files deleted in one go.
const FILES_MAX: usize = 64;
/// The grace on a full disk, in milliseconds: that of fetches which are just opening the file. Files
/// that are open stay readable.
const GRACE_WHEN_LOW_MS: i64 = 1_000;

/// Deletes what has been unreachable for its grace and whose freeing is saved.
pub(super) async fn collect(broker: &Broker, collector: &GarbageCollector) {
    let saved = broker.metadata.metrics().saved_index.load(std::sync::atomic::Ordering::Acquire);
    let grace_ms = match broker.is_space_low() {
        true => GRACE_WHEN_LOW_MS,
        false => i64::try_from(broker.config.gc_grace.as_millis()).unwrap_or(i64::MAX),
    };
    loop {
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

/// Deletes what lies in the store, can never be committed, and is not known.
pub(super) async fn collect_orphans(broker: &Broker, collector: &GarbageCollector) {
    let found = collector
        .orphans(|| {
            let (known, live) = broker.metadata.with_state(|state| {
                let known: BTreeSet<FileId> = state.files().map(|file| file.id).collect();
                let live: BTreeSet<_> = state
                    .brokers()
                    .filter(|broker| !broker.fenced)
                    .map(|broker| (broker.id, broker.epoch))
                    .collect();
                (known, live)
            });
            let floor = move |file: &FileId| {
                let LaneKey { broker, epoch, .. } = file.lane;
                match live.contains(&(broker, epoch)) {
                    true => Floor::UpTo(LaneSequence(0)),
                    false => Floor::All,
                }
            };
            (move |file: &FileId| known.contains(file), floor)
        })
        .await;
    match found {
        Ok(orphans) if orphans.is_empty() => {}
        Ok(orphans) => {
            let files = orphans.iter().map(|orphan| orphan.file).collect();
            let gone = collector.delete(files).await;
            tracing::info!(deleted = gone.len(), "files of earlier lives deleted that nobody knew");
        }
        Err(error) => tracing::warn!(%error, "the store was not searched for orphans"),
    }
}
