//! The `LogStore` of a machine's disk: log objects appended to the rolling file of their lane.
//!
//! Each lane in use has a task of its own that may block, fed by a bounded queue. Puts that wait
//! together share one sync.
//!
//! Invariants:
//! - After an error, and once [`abandon_file`](LogStore::abandon_file) was called, no put is written
//!   to that file any more and it is not synced again; what follows goes to a file with a new number.
//! - A sync that was under way when its file was abandoned may still succeed; its puts are then
//!   answered as durable, because they are.
//! - A put that waits on a stuck sync does not hold up puts made after the file was abandoned: those
//!   have another task. At most [`FileLogConfig::stuck_files_max`] files of a store are stuck at once.
//! - File numbers are unique in a lane: they go on after the highest one found on the disk.
//!
//! Not here: which objects are put again, and which copy is proposed (`crate::writer`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use tidemill_appendfile::SharedDisk;
use tidemill_base::ports::{BoxFuture, SharedSpawn};
use tidemill_base::{ErrorKind, FileId, FileNumber, FileRange, LaneKey, Location, ObjectId};
use tokio::sync::{mpsc, oneshot};

use crate::file_name::{LOG_DIRECTORY, append_file_path, parse_append_file};
use crate::log_store::{LogStore, Shape, StoreError, StoredFile};
use crate::open_files::OpenFiles;

mod config;
mod lane_files;
mod left_behind;
mod sync_counters;

pub use config::FileLogConfig;
use lane_files::{LaneFiles, Put};
pub use sync_counters::{SYNC_BUCKETS_US, SyncCounters};

/// Log objects in append files on one disk.
pub struct FileLogStore {
    shared: Arc<Shared>,
}

/// What the store and the tasks of its lanes share.
struct Shared {
    disk: SharedDisk,
    spawn: SharedSpawn,
    config: FileLogConfig,
    lanes: Mutex<Lanes>,
    open_files: OpenFiles,
    syncs: Arc<SyncCounters>,
    /// Tasks that live, stuck ones included.
    tasks_count: AtomicUsize,
}

#[derive(Default)]
struct Lanes {
    writing: BTreeMap<LaneKey, LaneHandle>,
    /// The highest number given out, of each lane that has files.
    numbers: BTreeMap<LaneKey, u32>,
    closed: bool,
}

/// The way to the task that writes a lane's current file.
struct LaneHandle {
    puts: mpsc::Sender<Put>,
    abandoned: Arc<AtomicBool>,
}

impl FileLogStore {
    /// Opens the store on `disk`, which is this process's alone. Lanes' tasks are started through
    /// `spawn`, as is one that gives back the space that an earlier life reserved in vain.
    ///
    /// # Errors
    /// Those of listing the log directory.
    pub async fn open(
        disk: SharedDisk,
        spawn: SharedSpawn,
        config: FileLogConfig,
    ) -> Result<Self, StoreError> {
        let listed = |error| StoreError::from_disk("open", LOG_DIRECTORY, error);
        let mut numbers = BTreeMap::new();
        let mut names = Vec::new();
        for entry in disk.list(LOG_DIRECTORY).await.map_err(listed)? {
            if let Some(file) = parse_append_file(&entry.name) {
                let highest = numbers.entry(file.lane).or_insert(0);
                *highest = file.number.0.max(*highest);
                names.push(entry.name);
            }
        }
        if !names.is_empty() {
            spawn.task("log-left-behind", Box::pin(left_behind::trim_all(disk.clone(), names)));
        }
        let free_bytes = disk.free_bytes().await.map_err(listed)?;
        let shared = Shared {
            open_files: OpenFiles::new(config.open_files_max, append_file_path),
            config: config.fitted_to(free_bytes),
            lanes: Mutex::new(Lanes { numbers, ..Lanes::default() }),
            syncs: Arc::default(),
            tasks_count: AtomicUsize::new(0),
            disk,
            spawn,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Refuses further puts. Those already made are written; then the tasks end and the space that
    /// their files reserved is given back.
    pub fn close(&self) {
        let mut lanes = self.shared.lanes.lock();
        lanes.closed = true;
        lanes.writing.clear();
    }

    /// The settings in force, fitted to the disk.
    #[must_use]
    pub fn config(&self) -> &FileLogConfig {
        &self.shared.config
    }

    /// What it counts of its syncs.
    #[must_use]
    pub fn syncs(&self) -> &Arc<SyncCounters> {
        &self.shared.syncs
    }

    /// Queues a put, in the order of the calls.
    fn enqueue(&self, object: ObjectId, put: Put) -> Result<(), StoreError> {
        let mut lanes = self.shared.lanes.lock();
        let refused = |kind, reason| StoreError::new("put", object.to_string(), kind, reason);
        if lanes.closed {
            return Err(refused(ErrorKind::Closed, "the store is closed"));
        }
        let sender = match lanes.writing.get(&object.lane) {
            Some(handle) if !handle.puts.is_closed() => handle.puts.clone(),
            _ => self.shared.start_lane(&mut lanes, object.lane),
        };
        sender.try_send(put).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                refused(ErrorKind::Throttled, "too many puts wait on this lane")
            }
            mpsc::error::TrySendError::Closed(_) => {
                refused(ErrorKind::Closed, "the lane's task has ended")
            }
        })
    }
}

impl Shared {
    /// Starts the task of a lane, in place of any earlier one.
    fn start_lane(self: &Arc<Self>, lanes: &mut Lanes, lane: LaneKey) -> mpsc::Sender<Put> {
        // A lane of an older registration of this broker gets no more puts.
        let same = |other: &LaneKey| other.broker == lane.broker && other.lane == lane.lane;
        lanes.writing.retain(|other, _| !(same(other) && other.epoch < lane.epoch));
        let (puts, waiting) = mpsc::channel(self.config.waiting_puts_max);
        let abandoned = Arc::new(AtomicBool::new(false));
        let task = LaneFiles::new(Arc::clone(self), lane, waiting, Arc::clone(&abandoned));
        self.tasks_count.fetch_add(1, Ordering::Relaxed);
        self.spawn.dedicated("log-lane", Box::pin(task.run()));
        lanes.writing.insert(lane, LaneHandle { puts: puts.clone(), abandoned });
        puts
    }

    /// A file number that the lane never had.
    fn next_number(&self, lane: LaneKey) -> FileNumber {
        let mut lanes = self.lanes.lock();
        let highest = lanes.numbers.entry(lane).or_insert(0);
        *highest += 1;
        FileNumber(*highest)
    }
}

impl LogStore for FileLogStore {
    fn shape(&self) -> Shape {
        Shape::AppendFiles
    }

    fn put(
        &self,
        object: ObjectId,
        parts: Vec<Bytes>,
    ) -> BoxFuture<'_, Result<Location, StoreError>> {
        let (done, answer) = oneshot::channel();
        let queued = self.enqueue(object, Put { object, parts, done });
        Box::pin(async move {
            queued?;
            answer.await.unwrap_or_else(|_| {
                let reason = "the lane's task ended before the put was durable";
                Err(StoreError::new("put", object.to_string(), ErrorKind::Ambiguous, reason))
            })
        })
    }

    fn abandon_file(&self, lane: LaneKey) {
        let mut lanes = self.shared.lanes.lock();
        let tasks_max = self.shared.config.stuck_files_max + lanes.writing.len();
        if self.shared.tasks_count.load(Ordering::Relaxed) >= tasks_max {
            tracing::warn!(%lane, "too many files are stuck; the lane goes on waiting for its last");
            return;
        }
        if let Some(handle) = lanes.writing.remove(&lane) {
            handle.abandoned.store(true, Ordering::Release);
        }
    }

    fn read(
        &self,
        file: FileId,
        position: u64,
        length: usize,
    ) -> BoxFuture<'_, Result<Bytes, StoreError>> {
        Box::pin(self.shared.open_files.read(&self.shared.disk, file, position, length))
    }

    fn open(&self, file: FileId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(
            async move { self.shared.open_files.get(file, &self.shared.disk).await.map(|_| ()) },
        )
    }

    fn peek(&self, file: FileId, position: u64, buffer: &mut [u8]) -> bool {
        self.shared.open_files.peek(file, position, buffer)
    }

    fn lend(&self, file: FileId, position: u64, length: usize) -> Option<FileRange> {
        self.shared.open_files.lend(file, position, length)
    }

    fn delete(&self, file: FileId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.shared.open_files.forget(file);
            let removed = self.shared.disk.remove(&append_file_path(&file)).await;
            removed.map_err(|error| StoreError::from_disk("delete", file.to_string(), error))
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<StoredFile>, StoreError>> {
        Box::pin(async move {
            let entries = self.shared.disk.list(LOG_DIRECTORY).await;
            let entries =
                entries.map_err(|error| StoreError::from_disk("list", LOG_DIRECTORY, error))?;
            let mut files: Vec<StoredFile> = entries
                .into_iter()
                .filter_map(|entry| {
                    let file = parse_append_file(&entry.name)?;
                    Some(StoredFile { file, length: entry.length })
                })
                .collect();
            files.sort_unstable();
            Ok(files)
        })
    }

    fn free_bytes(&self) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        Box::pin(async move {
            let free = self.shared.disk.free_bytes().await;
            free.map(Some).map_err(|error| StoreError::from_disk("measure", "the disk", error))
        })
    }
}

impl Drop for FileLogStore {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod file_log_store_test;
