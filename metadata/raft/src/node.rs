//! One member of the metadata quorum: recovery, the loop, and what both share.
//!
//! Read in this order: `opening` (from files to a running member), `member` (the loop: group commit,
//! apply, save), `proposal` and `reads` (who waits), `shared`.

pub(crate) mod member;
pub(crate) mod opening;
pub(crate) mod proposal;
pub(crate) mod reads;
pub(crate) mod shared;

#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use tidemill_appendfile::SharedDisk;
use tidemill_base::ids::Uuid;
use tidemill_base::ports::{SharedClock, SharedSpawn};
use tidemill_base::{ErrorKind, Incarnation};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::error;

use crate::error::OpenError;
use crate::handle::MetadataHandle;
use crate::node::member::Member;
use crate::options::RaftOptions;
use crate::save::SharedStore;
use crate::watch::EventSink;

/// What the outside world gives to a member.
#[derive(Clone)]
pub struct Ports {
    /// The disk of the log's files.
    pub disk: SharedDisk,
    /// Where applied state is saved.
    pub store: SharedStore,
    /// Wall time.
    pub clock: SharedClock,
    /// Starts the loop and the saver, each on a thread of its own.
    pub spawn: SharedSpawn,
    /// Takes events in this process.
    pub sink: Arc<dyn EventSink>,
}

/// Whose cluster begins where there is none yet. Where there is one, the log knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewCluster {
    /// The cluster's id, drawn at random by the caller.
    pub cluster_id: Uuid,
    /// The life of the cluster.
    pub incarnation: Incarnation,
}

/// Opens the member that the data belongs to, or begins a new cluster of one if there is no data.
/// Without a `new_cluster` it begins none: there is data elsewhere that metadata must have known.
/// Returns when it leads and has applied everything that was acknowledged before.
///
/// # Errors
/// See [`OpenError::kind`]. A disk that cannot be written is no error: opening waits for it.
pub async fn open(
    options: RaftOptions,
    new_cluster: Option<NewCluster>,
    ports: Ports,
) -> Result<MetadataHandle, OpenError> {
    options.check()?;
    let (opened, result) = oneshot::channel();
    let spawn = Arc::clone(&ports.spawn);
    spawn.dedicated("metadata-raft", Box::pin(run(options, new_cluster, ports, opened)));
    result.await.unwrap_or_else(|_| {
        let message = "the metadata loop ended while it was opening".to_owned();
        Err(OpenError::new(ErrorKind::Closed, message))
    })
}

/// The loop's task, from recovery to the end.
async fn run(
    options: RaftOptions,
    new_cluster: Option<NewCluster>,
    ports: Ports,
    opened: oneshot::Sender<Result<MetadataHandle, OpenError>>,
) {
    let (ended, ended_watch) = watch::channel(false);
    let began = tokio::time::Instant::now();
    let recovered = match opening::recover(&options, new_cluster, &ports).await {
        Ok(recovered) => recovered,
        Err(error) => {
            drop(ports);
            // Nobody waits any more if the caller gave up.
            let _ = opened.send(Err(error));
            return;
        }
    };
    let queue = usize::try_from(options.proposals_pending_max).unwrap_or(usize::MAX);
    let (proposals, proposals_queued) = mpsc::channel(queue.min(1 << 20));
    let (requests, requests_queued) = mpsc::channel(options.requests_pending_max);
    let shared = Arc::clone(&recovered.shared);
    let handle = MetadataHandle::new(Arc::clone(&shared), proposals, requests, ended_watch);
    let mut member = match Member::new(options, ports, recovered, proposals_queued, requests_queued)
    {
        Ok(member) => member,
        Err(error) => {
            let _ = opened.send(Err(error));
            return;
        }
    };
    let ready = member.lead().await;
    let recovery_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    crate::metrics::set(&shared.metrics.recovery_us, recovery_us);
    let result = match ready {
        Ok(()) => {
            let _ = opened.send(Ok(handle));
            member.run().await
        }
        Err(error) => {
            let _ = opened.send(Err(OpenError::new(ErrorKind::Bug, error.to_string())));
            Ok(())
        }
    };
    if let Err(error) = result {
        error!(%error, "the metadata loop stopped; this member no longer takes part");
    }
    shared.close();
    shared.hub.cut_off_all();
    member.stop_saver().await;
    // Whoever waits for the end may open the same files at once.
    drop(member);
    ended.send_replace(true);
}
