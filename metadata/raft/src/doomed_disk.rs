//! For tests: a disk whose process dies at a chosen call.
//!
//! Every call that changes something counts. The one at which the process dies is carried out or not,
//! and never returns; nor does any later one. The test then drops what waits for it and goes on with
//! the disk underneath.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use tidemill_appendfile::{Disk, DiskEntry, DiskError, ReadFile, SharedDisk, WriteFile};
use tidemill_base::ports::BoxFuture;

/// Decorates a disk.
pub(crate) struct DoomedDisk {
    inner: SharedDisk,
    doom: Arc<Doom>,
}

/// When the process dies.
pub(crate) struct Doom {
    calls_left: AtomicI64,
    /// Whether the last call is carried out.
    carried_out: bool,
}

impl Doom {
    fn new(calls: u64, carried_out: bool) -> Arc<Self> {
        let calls_left = AtomicI64::new(i64::try_from(calls).unwrap());
        Arc::new(Self { calls_left, carried_out })
    }

    /// Whether the process is dead.
    pub(crate) fn has_struck(&self) -> bool {
        self.calls_left.load(Ordering::SeqCst) < 0
    }

    async fn around<T>(&self, call: impl Future<Output = T>) -> T {
        let left = self.calls_left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return call.await;
        }
        if left == 0 && self.carried_out {
            call.await;
        }
        pending().await
    }
}

impl DoomedDisk {
    /// A disk over `inner` that works for `calls` calls.
    pub(crate) fn new(inner: SharedDisk, calls: u64, carried_out: bool) -> (Arc<Self>, Arc<Doom>) {
        let doom = Doom::new(calls, carried_out);
        (Arc::new(Self { inner, doom: Arc::clone(&doom) }), doom)
    }
}

struct DoomedFile {
    inner: Box<dyn WriteFile>,
    doom: Arc<Doom>,
}

impl Disk for DoomedDisk {
    fn create<'a>(
        &'a self,
        path: &'a str,
        allocate_bytes: u64,
    ) -> BoxFuture<'a, Result<Box<dyn WriteFile>, DiskError>> {
        Box::pin(async move {
            let inner = self.doom.around(self.inner.create(path, allocate_bytes)).await?;
            let doom = Arc::clone(&self.doom);
            Ok(Box::new(DoomedFile { inner, doom }) as Box<dyn WriteFile>)
        })
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>, DiskError>> {
        self.inner.open(path)
    }

    fn list<'a>(&'a self, directory: &'a str) -> BoxFuture<'a, Result<Vec<DiskEntry>, DiskError>> {
        self.inner.list(directory)
    }

    fn truncate<'a>(&'a self, path: &'a str, length: u64) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(self.doom.around(self.inner.truncate(path, length)))
    }

    fn sync_existing<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(self.doom.around(self.inner.sync_existing(path)))
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(self.doom.around(self.inner.rename(from, to)))
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(self.doom.around(self.inner.remove(path)))
    }

    fn free_bytes(&self) -> BoxFuture<'_, Result<u64, DiskError>> {
        self.inner.free_bytes()
    }
}

impl WriteFile for DoomedFile {
    fn write<'a>(&'a mut self, parts: &'a [Bytes]) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(async move {
            let doom = Arc::clone(&self.doom);
            doom.around(self.inner.write(parts)).await
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            let doom = Arc::clone(&self.doom);
            doom.around(self.inner.sync()).await
        })
    }

    fn reserve(&mut self, length: u64) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            let doom = Arc::clone(&self.doom);
            doom.around(self.inner.reserve(length)).await
        })
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }
}
