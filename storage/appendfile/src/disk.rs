//! The `Disk` port: files as this project uses them.
//!
//! Everything durable goes through this port, so that simulation can tear writes, fail syncs and
//! fill the disk under the very code that runs in production. Paths are relative to the data
//! directory, with `/` between parts.
//!
//! Invariants every adapter keeps:
//! - A file is created once, written only at its end, and never opened for writing again. What
//!   follows a restart goes to a new file.
//! - Bytes are durable only after `sync` returned `Ok`. After `write` or `sync` returned an error the
//!   file must not be synced again: the kernel may have dropped the dirty pages and the next sync
//!   would succeed without them.
//! - A file's name is durable when `create`, `rename` or `remove` returned.
//!
//! The real adapter blocks in place where a file is made or written: `Disk::create` and `WriteFile`
//! are called only from tasks on threads of their own (`Spawn::dedicated`). All else may be called
//! anywhere.

use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{ErrorKind, FileRange};

#[cfg(test)]
mod conformance;

/// What went wrong with a file.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{operation} {path}: {reason}")]
pub struct DiskError {
    /// What was tried, as a verb: "write", "sync", "create".
    pub operation: &'static str,
    /// The file, relative to the data directory.
    pub path: String,
    /// What the system said.
    pub reason: String,
    /// Whether the disk is full; freeing space may help.
    pub full: bool,
    /// What the caller may do.
    pub kind: ErrorKind,
}

impl DiskError {
    /// An error of `kind` that `operation` met at `path`.
    pub fn new(
        operation: &'static str,
        path: &str,
        kind: ErrorKind,
        reason: impl Into<String>,
    ) -> Self {
        Self { operation, path: path.to_owned(), reason: reason.into(), full: false, kind }
    }

    /// The same error, saying that the disk is full.
    #[must_use]
    pub fn because_full(self) -> Self {
        Self { full: true, ..self }
    }
}

/// A file in a listing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiskEntry {
    /// Its name within the directory.
    pub name: String,
    /// Its length in bytes, preallocated space included.
    pub length: u64,
}

/// A directory tree on one disk, held by one process.
pub trait Disk: Send + Sync + 'static {
    /// Creates a new file with `allocate_bytes` reserved, and makes its name durable. Parent
    /// directories are made. Fails with `Conflict` if it exists.
    fn create<'a>(
        &'a self,
        path: &'a str,
        allocate_bytes: u64,
    ) -> BoxFuture<'a, Result<Box<dyn WriteFile>, DiskError>>;

    /// Opens a file for reading. Fails with `NotFound` if it does not exist.
    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>, DiskError>>;

    /// The files of a directory, sorted by name; empty if the directory does not exist.
    fn list<'a>(&'a self, directory: &'a str) -> BoxFuture<'a, Result<Vec<DiskEntry>, DiskError>>;

    /// Cuts a file to `length` bytes and syncs it. Used only on files that are no longer written.
    fn truncate<'a>(&'a self, path: &'a str, length: u64) -> BoxFuture<'a, Result<(), DiskError>>;

    /// Makes a file that an earlier life wrote durable as it is now.
    fn sync_existing<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>>;

    /// Renames a file, replacing any at `to`, durably.
    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), DiskError>>;

    /// Removes a file, durably. Removing one that does not exist succeeds.
    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>>;

    /// How many bytes may still be written.
    fn free_bytes(&self) -> BoxFuture<'_, Result<u64, DiskError>>;
}

/// A file being written, at its end only.
pub trait WriteFile: Send + 'static {
    /// Appends `parts` one after another; returns when the system took them, not yet durable.
    fn write<'a>(&'a mut self, parts: &'a [Bytes]) -> BoxFuture<'a, Result<(), DiskError>>;

    /// Makes everything written so far durable.
    fn sync(&mut self) -> BoxFuture<'_, Result<(), DiskError>>;

    /// Reserves space up to `length` bytes of the file, as `create` did for its start. The file is as
    /// good as before if this fails; a disk that cannot reserve says `Ok`.
    fn reserve(&mut self, length: u64) -> BoxFuture<'_, Result<(), DiskError>> {
        let _ = length;
        Box::pin(std::future::ready(Ok(())))
    }

    /// The position at which the next byte will be written.
    fn position(&self) -> u64;
}

/// A file being read.
pub trait ReadFile: Send + Sync + 'static {
    /// Reads up to `length` bytes at `position`; fewer only at the end of the file.
    fn read(&self, position: u64, length: usize) -> BoxFuture<'_, Result<Bytes, DiskError>>;

    /// The file's length in bytes now.
    fn length(&self) -> BoxFuture<'_, Result<u64, DiskError>>;

    /// Fills `buffer` from `position` on if the system holds all of it in memory now, without
    /// waiting. `false`: use [`ReadFile::read`]. A disk that cannot tell says so always.
    fn peek(&self, position: u64, buffer: &mut [u8]) -> bool {
        let _ = (position, buffer);
        false
    }

    /// The bytes as a range that a socket can take from the file, if the system holds them in memory
    /// now, as far as can be told cheaply; the caller has just [peeked](Self::peek) at the first of
    /// them. `None`: use [`ReadFile::read`].
    fn lend(&self, position: u64, length: usize) -> Option<FileRange> {
        let _ = (position, length);
        None
    }
}

/// A shared disk.
pub type SharedDisk = Arc<dyn Disk>;
