//! Deleting files and objects that the metadata gave up, and listing all, so that those are found which
//! it never knew.
//!
//! Invariants:
//! - Only what the caller names is deleted. The metadata names a file when nothing reaches it and its
//!   grace is over.
//! - What is reported as deleted is gone from the store; its caches were dropped before.
//!
//! Not here: grace, floors, what is reachable and what is an orphan (`metadata/state`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use tidemill_base::{FileId, LaneId};

use crate::log_reader::LogReader;
use crate::log_store::{SharedLogStore, StoreError, StoredFile};
use crate::objects::SharedObjects;

/// Deletions under way at once.
const DELETES_MAX: usize = 4;

/// What a garbage collector counts.
#[derive(Debug, Default)]
pub struct GarbageCounters {
    /// Files and objects deleted.
    pub deleted: AtomicU64,
    /// Deletions that failed and will be tried again.
    pub failures: AtomicU64,
}

/// Carries out deletions.
pub struct GarbageCollector {
    store: SharedLogStore,
    objects: SharedObjects,
    reader: Arc<LogReader>,
    counters: Arc<GarbageCounters>,
}

impl GarbageCollector {
    /// A collector over the log's files, the side objects, and the reader that caches them.
    #[must_use]
    pub fn new(store: SharedLogStore, objects: SharedObjects, reader: Arc<LogReader>) -> Self {
        Self { store, objects, reader, counters: Arc::default() }
    }

    /// What the collector counts.
    #[must_use]
    pub fn counters(&self) -> &Arc<GarbageCounters> {
        &self.counters
    }

    /// Deletes `files`, and returns those that are gone, sorted. The others are to be named again.
    pub async fn delete(&self, files: Vec<FileId>) -> Vec<FileId> {
        let deletions = files.into_iter().map(|file| self.delete_one(file));
        let done = futures::stream::iter(deletions).buffer_unordered(DELETES_MAX);
        let mut gone: Vec<FileId> = done.filter_map(std::future::ready).collect().await;
        gone.sort_unstable();
        gone
    }

    /// Everything in the store, log files and side objects, sorted. An abandoned write may land after
    /// any listing, so that orphans are looked for again and again.
    ///
    /// # Errors
    /// Those of the listings.
    pub async fn list(&self) -> Result<Vec<StoredFile>, StoreError> {
        let mut stored = self.store.list().await?;
        stored.extend(self.objects.list().await?);
        stored.sort_unstable();
        Ok(stored)
    }

    async fn delete_one(&self, file: FileId) -> Option<FileId> {
        self.reader.forget_file(file);
        let deleted = match file.lane.lane {
            LaneId::OBJECTS => self.objects.delete(file).await,
            _ => self.store.delete(file).await,
        };
        match deleted {
            Ok(()) => {
                self.counters.deleted.fetch_add(1, Ordering::Relaxed);
                Some(file)
            }
            Err(error) => {
                self.counters.failures.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%file, %error, "a file that nobody needs is not deleted yet");
                None
            }
        }
    }
}

#[cfg(test)]
mod garbage_test;
