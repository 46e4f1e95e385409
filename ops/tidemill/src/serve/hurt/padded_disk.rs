//! A disk whose syncs last at least so long.
//!
//! The time is slept away on the thread that syncs, which is one of its own (`Spawn::dedicated`), so
//! that it is exact to some 0.1 ms; the runtime's timers are not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tidemill_appendfile::{Disk, DiskEntry, DiskError, ReadFile, SharedDisk, WriteFile};
use tidemill_base::ports::BoxFuture;

/// How long syncs of a folder's files last at least.
#[derive(Clone, Copy, Debug)]
pub(super) struct Padding {
    pub(super) folder: &'static str,
    pub(super) sync: Duration,
}

/// The disk behind, its syncs padded.
pub(super) struct PaddedDisk {
    pub(super) inner: SharedDisk,
    pub(super) paddings: Vec<Padding>,
}

impl Disk for PaddedDisk {
    fn create<'a>(
        &'a self,
        path: &'a str,
        allocate_bytes: u64,
    ) -> BoxFuture<'a, Result<Box<dyn WriteFile>, DiskError>> {
        Box::pin(async move {
            let inner = self.inner.create(path, allocate_bytes).await?;
            let padding = self.paddings.iter().find(|padding| path.starts_with(padding.folder));
            let sync = padding.map_or(Duration::ZERO, |padding| padding.sync);
            Ok(Box::new(PaddedFile { inner, sync }) as Box<dyn WriteFile>)
        })
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>, DiskError>> {
        self.inner.open(path)
    }

    fn list<'a>(&'a self, directory: &'a str) -> BoxFuture<'a, Result<Vec<DiskEntry>, DiskError>> {
        self.inner.list(directory)
    }

    fn truncate<'a>(&'a self, path: &'a str, length: u64) -> BoxFuture<'a, Result<(), DiskError>> {
        self.inner.truncate(path, length)
    }

    fn sync_existing<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        self.inner.sync_existing(path)
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        self.inner.rename(from, to)
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        self.inner.remove(path)
    }

    fn free_bytes(&self) -> BoxFuture<'_, Result<u64, DiskError>> {
        self.inner.free_bytes()
    }
}

struct PaddedFile {
    inner: Box<dyn WriteFile>,
    sync: Duration,
}

impl WriteFile for PaddedFile {
    fn write<'a>(&'a mut self, parts: &'a [Bytes]) -> BoxFuture<'a, Result<(), DiskError>> {
        self.inner.write(parts)
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            let begun = Instant::now();
            let synced = self.inner.sync().await;
            std::thread::sleep(self.sync.saturating_sub(begun.elapsed()));
            synced
        })
    }

    fn reserve(&mut self, length: u64) -> BoxFuture<'_, Result<(), DiskError>> {
        self.inner.reserve(length)
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }
}
