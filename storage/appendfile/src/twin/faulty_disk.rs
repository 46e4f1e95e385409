//! A disk that passes calls on to another one and spoils some of them.
//!
//! Over a real disk it pads and fails calls of real files (the benchmark's padded syncs); over a disk
//! in memory it also loses the pages that a failed sync drops. Delays wait on the clock of tokio, so
//! that a simulation owns them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{ErrorKind, FileRange};

use super::memory_disk::MemoryDisk;
use super::toxic::{ToxicKind, Toxics};
use crate::disk::{Disk, DiskEntry, DiskError, ReadFile, SharedDisk, WriteFile};

/// A disk under toxics.
pub struct FaultyDisk {
    inner: SharedDisk,
    shared: Arc<Shared>,
}

struct Shared {
    toxics: Toxics<ToxicKind>,
    memory: Option<MemoryDisk>,
    written_bytes: AtomicU64,
}

impl FaultyDisk {
    /// Decorates `inner`. The caller keeps a clone of `toxics` to change them.
    #[must_use]
    pub fn new(inner: SharedDisk, toxics: Toxics<ToxicKind>) -> Self {
        let shared = Shared { toxics, memory: None, written_bytes: AtomicU64::new(0) };
        Self { inner, shared: Arc::new(shared) }
    }

    /// Decorates a disk in memory, whose failed syncs can drop dirty pages.
    #[must_use]
    pub fn over_memory(memory: MemoryDisk, toxics: Toxics<ToxicKind>) -> Self {
        let inner = Arc::new(memory.clone());
        let shared = Shared { toxics, memory: Some(memory), written_bytes: AtomicU64::new(0) };
        Self { inner, shared: Arc::new(shared) }
    }
}

impl Disk for FaultyDisk {
    fn create<'a>(
        &'a self,
        path: &'a str,
        allocate_bytes: u64,
    ) -> BoxFuture<'a, Result<Box<dyn WriteFile>, DiskError>> {
        Box::pin(async move {
            let struck = self.shared.toxics.strike(path, |kind| *kind == ToxicKind::FailCreate);
            if !struck.is_empty() {
                return Err(spoiled("create", path, ErrorKind::Retry));
            }
            self.shared.check_room("create", path, 1)?;
            let inner = self.inner.create(path, allocate_bytes).await?;
            let (shared, path) = (Arc::clone(&self.shared), path.to_owned());
            Ok(Box::new(FaultyWriteFile { inner, shared, path }) as Box<dyn WriteFile>)
        })
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>, DiskError>> {
        Box::pin(async move {
            let inner = self.inner.open(path).await?;
            let (shared, path) = (Arc::clone(&self.shared), path.to_owned());
            Ok(Arc::new(FaultyReadFile { inner, shared, path }) as Arc<dyn ReadFile>)
        })
    }

    fn list<'a>(&'a self, directory: &'a str) -> BoxFuture<'a, Result<Vec<DiskEntry>, DiskError>> {
        self.inner.list(directory)
    }

    fn truncate<'a>(&'a self, path: &'a str, length: u64) -> BoxFuture<'a, Result<(), DiskError>> {
        self.inner.truncate(path, length)
    }

    fn sync_existing<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(async move {
            self.shared.before_sync(path).await?;
            self.inner.sync_existing(path).await
        })
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        self.inner.rename(from, to)
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        self.inner.remove(path)
    }

    fn free_bytes(&self) -> BoxFuture<'_, Result<u64, DiskError>> {
        Box::pin(async move {
            let free = self.inner.free_bytes().await?;
            Ok(free.min(self.shared.room_bytes("").unwrap_or(u64::MAX)))
        })
    }
}

impl Shared {
    /// What the toxics of a full disk leave, if there are any.
    fn room_bytes(&self, path: &str) -> Option<u64> {
        let struck = self.toxics.strike(path, |kind| matches!(kind, ToxicKind::Full { .. }));
        let budgets = struck.iter().filter_map(|kind| match kind {
            ToxicKind::Full { bytes } => Some(*bytes),
            _ => None,
        });
        let written = self.written_bytes.load(Ordering::Relaxed);
        budgets.min().map(|bytes| bytes.saturating_sub(written))
    }

    fn check_room(&self, operation: &'static str, path: &str, bytes: u64) -> Result<(), DiskError> {
        match self.room_bytes(path) {
            Some(room) if room < bytes => {
                Err(spoiled(operation, path, ErrorKind::Throttled).because_full())
            }
            _ => Ok(()),
        }
    }

    async fn before_sync(&self, path: &str) -> Result<(), DiskError> {
        let kinds = self.toxics.strike(path, |kind| {
            matches!(kind, ToxicKind::FailSync { .. } | ToxicKind::DelaySync { .. })
        });
        for kind in kinds {
            match kind {
                ToxicKind::DelaySync { delay_ms } => wait(delay_ms).await,
                ToxicKind::FailSync { drop_dirty } => {
                    if let (true, Some(memory)) = (drop_dirty, &self.memory) {
                        memory.drop_dirty(path);
                    }
                    return Err(spoiled("sync", path, ErrorKind::Ambiguous));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

struct FaultyWriteFile {
    inner: Box<dyn WriteFile>,
    shared: Arc<Shared>,
    path: String,
}

impl WriteFile for FaultyWriteFile {
    fn write<'a>(&'a mut self, parts: &'a [Bytes]) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(async move {
            let toxics = &self.shared.toxics;
            let kinds = toxics.strike(&self.path, |kind| {
                matches!(kind, ToxicKind::FailWrite | ToxicKind::DelayWrite { .. })
            });
            let bytes = parts.iter().map(Bytes::len).sum::<usize>() as u64;
            for kind in kinds {
                match kind {
                    ToxicKind::DelayWrite { delay_ms } => wait(delay_ms).await,
                    _ => {
                        let kept = toxics.roll_below(bytes + 1) as usize;
                        self.inner.write(&first_bytes(parts, kept)).await?;
                        return Err(spoiled("write", &self.path, ErrorKind::Ambiguous));
                    }
                }
            }
            self.shared.check_room("write", &self.path, bytes)?;
            self.inner.write(parts).await?;
            self.shared.written_bytes.fetch_add(bytes, Ordering::Relaxed);
            Ok(())
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            self.shared.before_sync(&self.path).await?;
            self.inner.sync().await?;
            let lost = |kind: &ToxicKind| *kind == ToxicKind::LoseSyncAnswer;
            if self.shared.toxics.strike(&self.path, lost).is_empty() {
                Ok(())
            } else {
                Err(spoiled("sync", &self.path, ErrorKind::Ambiguous))
            }
        })
    }

    fn reserve(&mut self, length: u64) -> BoxFuture<'_, Result<(), DiskError>> {
        self.inner.reserve(length)
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }
}

struct FaultyReadFile {
    inner: Arc<dyn ReadFile>,
    shared: Arc<Shared>,
    path: String,
}

impl ReadFile for FaultyReadFile {
    fn read(&self, position: u64, length: usize) -> BoxFuture<'_, Result<Bytes, DiskError>> {
        Box::pin(async move {
            let toxics = &self.shared.toxics;
            let kinds = toxics.strike(&self.path, |kind| {
                use ToxicKind::{DelayRead, FailRead, FlipBit, ShortRead};
                matches!(kind, FailRead | ShortRead | FlipBit | DelayRead { .. })
            });
            let mut length = length;
            let mut flip = false;
            for kind in kinds {
                match kind {
                    ToxicKind::DelayRead { delay_ms } => wait(delay_ms).await,
                    ToxicKind::ShortRead => {
                        let shorter = toxics.roll_below(length as u64) as usize;
                        length = length.min(shorter.max(1));
                    }
                    ToxicKind::FlipBit => flip = true,
                    _ => return Err(spoiled("read", &self.path, ErrorKind::Retry)),
                }
            }
            let bytes = self.inner.read(position, length).await?;
            if !flip || bytes.is_empty() {
                return Ok(bytes);
            }
            let mut spoiled = bytes.to_vec();
            let bit = toxics.roll_below(spoiled.len() as u64 * 8) as usize;
            spoiled[bit / 8] ^= 1 << (bit % 8);
            Ok(Bytes::from(spoiled))
        })
    }

    fn length(&self) -> BoxFuture<'_, Result<u64, DiskError>> {
        self.inner.length()
    }

    fn peek(&self, position: u64, buffer: &mut [u8]) -> bool {
        self.inner.peek(position, buffer)
    }

    /// Every other stretch of a file is said not to be in memory, so that both paths are taken.
    fn lend(&self, position: u64, length: usize) -> Option<FileRange> {
        const STRETCH_BYTES: u64 = 512;
        match (position / STRETCH_BYTES).is_multiple_of(2) {
            true => self.inner.lend(position, length),
            false => None,
        }
    }
}

fn first_bytes(parts: &[Bytes], mut kept: usize) -> Vec<Bytes> {
    let mut first = Vec::new();
    for part in parts {
        let taken = part.len().min(kept);
        if taken == 0 {
            break;
        }
        first.push(part.slice(..taken));
        kept -= taken;
    }
    first
}

fn spoiled(operation: &'static str, path: &str, kind: ErrorKind) -> DiskError {
    DiskError::new(operation, path, kind, "spoiled by a toxic")
}

async fn wait(delay_ms: u64) {
    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
}

#[cfg(test)]
mod faulty_disk_test;
