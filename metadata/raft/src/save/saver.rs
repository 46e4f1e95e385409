//! The task that saves applied state, beside the loop that applies.
//!
//! One save is under way at a time. A save that fails is tried again with the same set until it
//! succeeds or the member closes: its changes were taken out of the state and must not be lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tidemill_base::twins::{self, Twin};
use tidemill_metadata_state::SaveSet;
use tokio::sync::mpsc;
use tracing::warn;

use crate::metrics;
use crate::node::shared::Shared;
use crate::options::RaftOptions;
use crate::save::state_store::{SavedPosition, SharedStore};

/// One save to be done.
#[derive(Debug)]
pub(crate) struct SaveJob {
    pub(crate) position: SavedPosition,
    pub(crate) set: SaveSet,
}

/// Saves job after job until there are no more to come. Each job is answered with the index that
/// is saved, or `None` if the member closed before it was.
pub(crate) async fn run_saver(
    store: SharedStore,
    shared: Arc<Shared>,
    options: RaftOptions,
    mut jobs: mpsc::Receiver<SaveJob>,
    done: mpsc::Sender<Option<u64>>,
) {
    while let Some(mut job) = jobs.recv().await {
        let began = tokio::time::Instant::now();
        let mut wait = options.retry_wait;
        let saved = loop {
            if twins::is_on(Twin::AppliedIndexAheadOfState) {
                job.position.applied.index = shared.metrics.applied_index.load(Ordering::Relaxed);
            }
            match store.save(&job.position, &job.set).await {
                Ok(()) => break Some(job.position.applied.index),
                Err(error) => {
                    metrics::add(&shared.metrics.save_failures, 1);
                    warn!(%error, "saving the metadata state failed; it will be tried again");
                }
            }
            if shared.wait_or_closing(wait).await {
                break None;
            }
            wait = (wait * 2).min(options.retry_wait_max);
        };
        if let Some(index) = saved {
            metrics::add(&shared.metrics.saves, 1);
            metrics::set(&shared.metrics.saved_index, index);
            let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            metrics::set(&shared.metrics.save_us_last, took_us);
        }
        if done.send(saved).await.is_err() {
            break;
        }
    }
    // The end of `done` says that the store is free.
    drop(store);
    drop(done);
}
