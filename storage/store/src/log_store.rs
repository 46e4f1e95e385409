//! The `LogStore` port: where log objects become durable.
//!
//! Two shapes stand behind it. An *append-file* store writes objects one after another into the
//! rolling file of their lane; a file belongs to one life of one lane. An *immutable-object* store
//! puts each object under a key of its own. Callers see the difference only in [`Shape`] and in the
//! [`Location`] they get back.
//!
//! Invariants every adapter keeps:
//! - `put` returns `Ok` only when the object is durable and can be read at the location returned.
//! - After an error or a timeout the caller does not know whether bytes lie there; it may put the same
//!   object again, and an append-file store then writes it to a *new* file. Only a location returned
//!   by `put` may be proposed, and for one object id at most one of them.
//! - Reading never returns bytes other than those put.

use std::sync::Arc;

use bytes::Bytes;
use tidemill_appendfile::DiskError;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{ErrorKind, FileId, FileRange, LaneKey, Location, ObjectId};

#[cfg(test)]
mod conformance;

/// How a store makes objects durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Objects are appended to a rolling file of their lane; one sync at a time is useful.
    AppendFiles,
    /// Each object is one conditional put; many may be in flight.
    ImmutableObjects,
}

/// What went wrong in a store.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{operation} {what}: {reason}")]
pub struct StoreError {
    /// What was tried, as a verb: "put", "read", "delete".
    pub operation: &'static str,
    /// The object or file.
    pub what: String,
    /// What the layer below said.
    pub reason: String,
    /// Whether the store has no room left.
    pub full: bool,
    /// What the caller may do. `NotFound` from a read means: ask again where it lies.
    pub kind: ErrorKind,
}

impl StoreError {
    /// An error of `kind` that `operation` met with `what`.
    pub fn new(
        operation: &'static str,
        what: impl Into<String>,
        kind: ErrorKind,
        reason: impl Into<String>,
    ) -> Self {
        Self { operation, what: what.into(), reason: reason.into(), full: false, kind }
    }

    /// What an error of the disk means for `operation` on `what`.
    pub fn from_disk(operation: &'static str, what: impl Into<String>, error: DiskError) -> Self {
        let reason = format!("{} {}: {}", error.operation, error.path, error.reason);
        Self { full: error.full, ..Self::new(operation, what, error.kind, reason) }
    }
}

/// A file or object found in the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StoredFile {
    /// Which.
    pub file: FileId,
    /// Its length in bytes.
    pub length: u64,
}

/// Durable storage for log objects.
pub trait LogStore: Send + Sync + 'static {
    /// Which shape this store has.
    fn shape(&self) -> Shape;

    /// Writes one object and returns when it is durable. `parts` are its bytes in order; the first
    /// holds the object's header, and the others carry checksums of their own or are covered by
    /// ones in the header.
    ///
    /// Puts of one lane into an append-file store are written in the order of the calls. A put whose
    /// future is dropped may still land; its location is then garbage.
    fn put(
        &self,
        object: ObjectId,
        parts: Vec<Bytes>,
    ) -> BoxFuture<'_, Result<Location, StoreError>>;

    /// Abandons the file a lane writes to, so that the next put starts a new one. Called when a
    /// sync takes too long; harmless otherwise.
    fn abandon_file(&self, lane: LaneKey);

    /// Reads `length` bytes at `position` of a file or object: exactly that many, or an error.
    fn read(
        &self,
        file: FileId,
        position: u64,
        length: usize,
    ) -> BoxFuture<'_, Result<Bytes, StoreError>>;

    /// Opens a file, so that it can be lent from; nothing to do where nothing is lent.
    fn open(&self, file: FileId) -> BoxFuture<'_, Result<(), StoreError>> {
        let _ = file;
        Box::pin(std::future::ready(Ok(())))
    }

    /// Fills `buffer` from `position` on if that takes no waiting, and says whether it did.
    fn peek(&self, file: FileId, position: u64, buffer: &mut [u8]) -> bool {
        let _ = (file, position, buffer);
        false
    }

    /// The bytes as a range of an open file, for a socket to take from there, if the system holds
    /// them in memory now. `None`: read them. The range stays readable when the file is deleted.
    fn lend(&self, file: FileId, position: u64, length: usize) -> Option<FileRange> {
        let _ = (file, position, length);
        None
    }

    /// Deletes a file or object. Deleting one that does not exist succeeds.
    fn delete(&self, file: FileId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// All files and objects present, sorted. May miss those written meanwhile.
    fn list(&self) -> BoxFuture<'_, Result<Vec<StoredFile>, StoreError>>;

    /// How many bytes may still be written, or `None` where there is no such limit.
    fn free_bytes(&self) -> BoxFuture<'_, Result<Option<u64>, StoreError>>;
}

/// A shared store.
pub type SharedLogStore = Arc<dyn LogStore>;
