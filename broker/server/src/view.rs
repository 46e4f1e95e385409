//! The broker's projection of the metadata, and the fetches that wait for it to move.
//!
//! In one process the metadata loop delivers events here before it answers the commands that caused
//! them, so that a produce is answered only when this broker's fetches already show it.
//!
//! Both locks are held for the length of a look-up or of one apply, never across an await.

mod fold_need;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use tidemill_base::{AppliedIndex, FileId, PartitionId};
use tidemill_broker_logic::fetch::{FetchWaits, WaiterId};
use tidemill_metadata_raft::EventSink;
use tidemill_metadata_state::projection::Covered;
use tidemill_metadata_state::{Entry, Event, Projection};
use tidemill_storage_store::{LogEnd, LogEnds};
use tokio::sync::{oneshot, watch};

pub use self::fold_need::{FoldLimits, FoldNeed};

/// The projection, and who waits for it.
#[derive(Debug, Default)]
pub struct View {
    projection: RwLock<Projection>,
    waiting: Mutex<Waiting>,
    /// Rises whenever topics or partitions come or go.
    topology_version: AtomicU64,
    /// Where the committed objects of each append file end.
    file_ends: Mutex<BTreeMap<FileId, u64>>,
    fold_limits: FoldLimits,
    fold_need: watch::Sender<FoldNeed>,
    extents_waiting: AtomicU64,
    /// Objects whose commit was held back.
    held_back: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    waits: FetchWaits,
    wakers: BTreeMap<WaiterId, oneshot::Sender<()>>,
}

/// A fetch that waits. Dropping it takes it out of the table.
#[derive(Debug)]
pub struct FetchWait {
    view: Arc<View>,
    id: WaiterId,
    due: oneshot::Receiver<()>,
}

impl View {
    /// An empty projection that asks for folding beyond `fold_limits`.
    #[must_use]
    pub fn new(fold_limits: FoldLimits) -> Self {
        Self { fold_limits, ..Self::default() }
    }

    /// How many extents may wait to be folded.
    pub fn fold_limits(&self) -> FoldLimits {
        self.fold_limits
    }

    /// How many extents wait to be folded.
    pub fn extents_waiting(&self) -> u64 {
        self.extents_waiting.load(Ordering::Relaxed)
    }

    /// How many times an object was held back, for extents that wait or one before it.
    pub fn held_back(&self) -> &AtomicU64 {
        &self.held_back
    }

    /// Returns when folding is needed before its round. Cancel-safe.
    pub async fn needs_folding(&self) {
        self.until(|need| need >= FoldNeed::Now).await;
    }

    /// Returns when the extents that wait leave room for more. Cancel-safe.
    pub async fn has_room_for_extents(&self) {
        self.until(|need| need < FoldNeed::Overdue).await;
    }

    async fn until(&self, reached: impl Fn(FoldNeed) -> bool) {
        // An error would mean that the sender is gone, which `self` holds.
        let _ = self.fold_need.subscribe().wait_for(|need| reached(*need)).await;
    }

    fn note_extents(&self, waiting: u64) {
        self.extents_waiting.store(waiting, Ordering::Relaxed);
        let need = self.fold_limits.need(waiting);
        // Whoever waits is woken at a mark only, not by every commit.
        self.fold_need.send_if_modified(|known| std::mem::replace(known, need) != need);
    }

    /// The projection as it is now. Hold it for a look-up only.
    pub fn projection(&self) -> RwLockReadGuard<'_, Projection> {
        self.projection.read()
    }

    /// Rises whenever topics or partitions come or go: what was resolved under an older version has
    /// to be resolved again.
    pub fn topology_version(&self) -> u64 {
        self.topology_version.load(Ordering::Acquire)
    }

    /// Up to where a file's bytes are committed, as far as this projection saw it: reading ahead
    /// stops there.
    pub fn readable_up_to(&self, file: FileId) -> u64 {
        self.file_ends.lock().get(&file).copied().unwrap_or(0)
    }

    fn note_file_ends(&self, events: &[Event]) {
        for event in events {
            match event {
                Event::Appended { extents } => {
                    // The extents of one event lie in one object.
                    let ends = extents.iter().map(|(_, e)| e.position + u64::from(e.length));
                    let file = extents.first().map(|(_, extent)| extent.file);
                    if let (Some(file), Some(end)) = (file, ends.max()) {
                        let mut file_ends = self.file_ends.lock();
                        let known = file_ends.entry(file).or_default();
                        *known = end.max(*known);
                    }
                }
                Event::PartitionRestored(image) => {
                    let mut file_ends = self.file_ends.lock();
                    for entry in &image.entries {
                        if let Entry::Extent(extent) = entry {
                            let end = extent.position + u64::from(extent.length);
                            let known = file_ends.entry(extent.file).or_default();
                            *known = end.max(*known);
                        }
                    }
                }
                Event::FileUnreachable { file, .. } => {
                    self.file_ends.lock().remove(file);
                }
                _ => {}
            }
        }
    }

    /// How many fetches wait.
    pub fn fetches_waiting(&self) -> usize {
        self.waiting.lock().waits.len()
    }

    /// Waits until `missing_bytes` more have been appended to `partitions`, or one of them changed
    /// otherwise.
    pub fn wait(self: &Arc<Self>, partitions: Vec<PartitionId>, missing_bytes: u64) -> FetchWait {
        let (waker, due) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        let id = waiting.waits.wait(partitions, missing_bytes);
        waiting.wakers.insert(id, waker);
        FetchWait { view: Arc::clone(self), id, due }
    }

    fn wake(&self, events: &[Event]) {
        let mut waiting = self.waiting.lock();
        let Waiting { waits, wakers } = &mut *waiting;
        if waits.is_empty() {
            return;
        }
        let mut due = |id| {
            if let Some(waker) = wakers.remove(&id) {
                // The fetch may just have been answered or given up.
                let _ = waker.send(());
            }
        };
        for event in events {
            match event {
                Event::Appended { extents } => {
                    for (partition, extent) in extents {
                        waits.appended(*partition, u64::from(extent.length), &mut due);
                    }
                }
                Event::LogStartAdvanced { partition, .. } => waits.changed(*partition, &mut due),
                _ => {}
            }
        }
    }

    /// Partitions that a deletion is about to take out of the projection.
    fn partitions_deleted(&self, events: &[Event]) -> Vec<PartitionId> {
        let projection = self.projection.read();
        let topics = events.iter().filter_map(|event| match event {
            Event::TopicDeleted { topic } => projection.topic_by_id(*topic),
            _ => None,
        });
        topics.flat_map(|topic| topic.partitions.iter().copied()).collect()
    }
}

impl LogEnds for View {
    fn log_end(&self, partition: PartitionId) -> Option<LogEnd> {
        let projection = self.projection.read();
        let view = projection.partition(partition)?;
        Some(LogEnd { offset: view.high_watermark(), leader_epoch: view.leader_epoch() })
    }
}

impl EventSink for View {
    fn deliver(&self, from: AppliedIndex, to: AppliedIndex, events: &[Event]) {
        let changes_topology = events.iter().any(|event| {
            matches!(
                event,
                Event::TopicCreated(_)
                    | Event::TopicDeleted { .. }
                    | Event::PartitionsCreated { .. }
                    | Event::IncarnationStarted { .. }
            )
        });
        let deleted = match changes_topology {
            true => self.partitions_deleted(events),
            false => Vec::new(),
        };
        let (applied, waiting) = {
            let mut projection = self.projection.write();
            let applied = projection.apply(Covered { from, to }, events);
            (applied, projection.extents_waiting())
        };
        if let Err(not_next) = applied {
            tracing::error!(%not_next, "the projection missed events; this is a bug");
            return;
        }
        self.note_extents(waiting);
        if changes_topology {
            self.topology_version.fetch_add(1, Ordering::AcqRel);
        }
        self.note_file_ends(events);
        self.wake(events);
        if deleted.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock();
        let Waiting { waits, wakers } = &mut *waiting;
        for partition in deleted {
            waits.changed(partition, |id| {
                wakers.remove(&id);
            });
        }
    }

    fn reset(&self, at: AppliedIndex, events: &[Event]) {
        let projection = Projection::from_snapshot(at, events);
        let waiting = projection.extents_waiting();
        *self.projection.write() = projection;
        self.note_extents(waiting);
        self.file_ends.lock().clear();
        self.note_file_ends(events);
        self.topology_version.fetch_add(1, Ordering::AcqRel);
        // Whoever waits looks again: a dropped waker ends the wait.
        *self.waiting.lock() = Waiting::default();
    }
}

impl FetchWait {
    /// Returns when the wait is over. Cancel-safe.
    pub async fn due(&mut self) {
        // A dropped waker also means: look again.
        let _ = (&mut self.due).await;
    }
}

impl Drop for FetchWait {
    fn drop(&mut self) {
        let mut waiting = self.view.waiting.lock();
        waiting.waits.remove(self.id);
        waiting.wakers.remove(&self.id);
    }
}
