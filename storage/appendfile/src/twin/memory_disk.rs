//! A disk in memory, with the durability of a real one: what was not synced may be lost.
//!
//! Invariants:
//! - [`crash`](MemoryDisk::crash) keeps every synced byte of every file, and of the others any subset of
//!   512-byte sectors, as a disk that reorders its writes would; a file's length may or may not have
//!   grown. Names are kept, because the port makes them durable at once.
//! - After a crash or a [`kill`](MemoryDisk::kill) the files opened before it fail with `Closed`.
//! - Pages that a failed sync dropped ([`drop_dirty`](MemoryDisk::drop_dirty)) are read back until the
//!   next crash, and lost in it, even if a later sync succeeded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tidemill_base::ErrorKind;
use tidemill_base::ports::BoxFuture;

use super::dice::Dice;
use crate::disk::{Disk, DiskEntry, DiskError, ReadFile, WriteFile};

mod memory_file;
mod memory_read_file;

use memory_file::MemoryFile;
use memory_read_file::MemoryReadFile;

/// A disk in memory. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    files: BTreeMap<String, Arc<Mutex<MemoryFile>>>,
    /// Raised by a crash: files opened in an earlier life fail.
    life: u64,
    capacity_bytes: u64,
}

impl Default for MemoryDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryDisk {
    /// An empty disk without a limit.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(u64::MAX)
    }

    /// An empty disk that is full when its files' lengths, reserved space included, add up to
    /// `capacity_bytes`.
    #[must_use]
    pub fn with_capacity(capacity_bytes: u64) -> Self {
        let state = State { files: BTreeMap::new(), life: 0, capacity_bytes };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Loses power: what was not synced is kept or lost by the throw of `seed`.
    pub fn crash(&self, seed: u64) {
        let mut state = self.lock();
        state.life += 1;
        let mut dice = Dice::new(seed);
        for file in state.files.values_mut() {
            let survived = lock(file).after_crash(&mut dice);
            *file = Arc::new(Mutex::new(survived));
        }
    }

    /// Ends the process and keeps the machine: every byte written is there, and nothing more is
    /// durable than before.
    pub fn kill(&self) {
        self.lock().life += 1;
    }

    /// Forgets that the unsynced pages of a file are dirty, as the kernel does when a sync fails.
    pub fn drop_dirty(&self, path: &str) {
        if let Some(file) = self.file(path) {
            lock(&file).drop_dirty();
        }
    }

    /// Sets how many bytes the disk holds.
    pub fn set_capacity(&self, capacity_bytes: u64) {
        self.lock().capacity_bytes = capacity_bytes;
    }

    /// Flips the bits of `mask` in one byte, as bit rot does. Nothing happens beyond the end.
    pub fn damage(&self, path: &str, position: u64, mask: u8) {
        if let Some(file) = self.file(path) {
            lock(&file).damage(position, mask);
        }
    }

    /// All paths, sorted.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.lock().files.keys().cloned().collect()
    }

    fn file(&self, path: &str) -> Option<Arc<Mutex<MemoryFile>>> {
        self.lock().files.get(path).cloned()
    }

    fn found(
        &self,
        operation: &'static str,
        path: &str,
    ) -> Result<Arc<Mutex<MemoryFile>>, DiskError> {
        self.file(path)
            .ok_or_else(|| DiskError::new(operation, path, ErrorKind::NotFound, "no such file"))
    }

    fn create_now(&self, path: &str, allocate_bytes: u64) -> Result<MemoryWriteFile, DiskError> {
        let mut state = self.lock();
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(DiskError::new("create", path, ErrorKind::Invalid, "not a path"));
        }
        if state.files.contains_key(path) {
            return Err(DiskError::new("create", path, ErrorKind::Conflict, "it exists"));
        }
        if state.free_bytes() < allocate_bytes {
            return Err(full("create", path));
        }
        let file = Arc::new(Mutex::new(MemoryFile::allocated(allocate_bytes)));
        state.files.insert(path.to_owned(), Arc::clone(&file));
        let (disk, life, path) = (self.clone(), state.life, path.to_owned());
        Ok(MemoryWriteFile { disk, file, life, path, position: 0 })
    }

    fn rename_now(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let mut state = self.lock();
        let file = state
            .files
            .remove(from)
            .ok_or_else(|| DiskError::new("rename", from, ErrorKind::NotFound, "no such file"))?;
        state.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn list_now(&self, directory: &str) -> Vec<DiskEntry> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let state = self.lock();
        let inside = state.files.iter().filter_map(|(path, file)| {
            let name = path.strip_prefix(&prefix)?;
            let entry = || DiskEntry { name: name.to_owned(), length: lock(file).length() };
            (!name.contains('/')).then(entry)
        });
        inside.collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn free_bytes(&self) -> u64 {
        let used = self.files.values().map(|file| lock(file).length()).sum();
        self.capacity_bytes.saturating_sub(used)
    }
}

impl Disk for MemoryDisk {
    fn create<'a>(
        &'a self,
        path: &'a str,
        allocate_bytes: u64,
    ) -> BoxFuture<'a, Result<Box<dyn WriteFile>, DiskError>> {
        Box::pin(async move {
            let file = self.create_now(path, allocate_bytes)?;
            Ok(Box::new(file) as Box<dyn WriteFile>)
        })
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>, DiskError>> {
        Box::pin(async move {
            let file = self.found("open", path)?;
            let life = self.lock().life;
            let file = MemoryReadFile::new(self.clone(), file, life, path);
            Ok(Arc::new(file) as Arc<dyn ReadFile>)
        })
    }

    fn list<'a>(&'a self, directory: &'a str) -> BoxFuture<'a, Result<Vec<DiskEntry>, DiskError>> {
        Box::pin(async move { Ok(self.list_now(directory)) })
    }

    fn truncate<'a>(&'a self, path: &'a str, length: u64) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(async move {
            lock(self.found("truncate", path)?.as_ref()).truncate(length);
            Ok(())
        })
    }

    fn sync_existing<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(async move {
            lock(self.found("sync", path)?.as_ref()).sync();
            Ok(())
        })
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(async move { self.rename_now(from, to) })
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(async move {
            self.lock().files.remove(path);
            Ok(())
        })
    }

    fn free_bytes(&self) -> BoxFuture<'_, Result<u64, DiskError>> {
        Box::pin(async move { Ok(self.lock().free_bytes()) })
    }
}

struct MemoryWriteFile {
    disk: MemoryDisk,
    file: Arc<Mutex<MemoryFile>>,
    life: u64,
    path: String,
    position: u64,
}

impl MemoryWriteFile {
    fn write_now(&mut self, parts: &[Bytes]) -> Result<(), DiskError> {
        check_life(&self.disk, self.life, "write", &self.path)?;
        for part in parts {
            let growth = {
                let file = lock(&self.file);
                (self.position + part.len() as u64).saturating_sub(file.length())
            };
            if growth > 0 && self.disk.lock().free_bytes() < growth {
                return Err(full("write", &self.path));
            }
            lock(&self.file).append(part);
            self.position += part.len() as u64;
        }
        Ok(())
    }
}

impl WriteFile for MemoryWriteFile {
    fn write<'a>(&'a mut self, parts: &'a [Bytes]) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(async move { self.write_now(parts) })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            check_life(&self.disk, self.life, "sync", &self.path)?;
            lock(&self.file).sync();
            Ok(())
        })
    }

    fn reserve(&mut self, length: u64) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            check_life(&self.disk, self.life, "reserve", &self.path)?;
            let growth = length.saturating_sub(lock(&self.file).length());
            if growth > 0 && self.disk.lock().free_bytes() < growth {
                return Err(full("reserve", &self.path));
            }
            lock(&self.file).reserve(length);
            Ok(())
        })
    }

    fn position(&self) -> u64 {
        self.position
    }
}

fn check_life(
    disk: &MemoryDisk,
    life: u64,
    operation: &'static str,
    path: &str,
) -> Result<(), DiskError> {
    if disk.lock().life == life {
        Ok(())
    } else {
        Err(DiskError::new(operation, path, ErrorKind::Closed, "opened before the crash"))
    }
}

fn full(operation: &'static str, path: &str) -> DiskError {
    DiskError::new(operation, path, ErrorKind::Throttled, "no space left").because_full()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod memory_disk_test;
