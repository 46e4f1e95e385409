//! The `Objects` port: immutable objects beside the log, such as index objects.
//!
//! An object is named in its writer's object lane, and its file id is the name the metadata knows.
//!
//! Invariants every adapter keeps:
//! - `put` returns `Ok` only when the whole object is durable, and no reader ever sees a part of it.
//! - The same object may be put again; another body under the same name is a mistake of the caller.
//!
//! Not here: log objects, which come at another rate ([`crate::LogStore`]).

use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{FileId, Location, ObjectId};

use crate::log_store::{StoreError, StoredFile};

mod disk_objects;
mod store_objects;

pub use disk_objects::DiskObjects;
pub use store_objects::StoreObjects;

/// Durable storage for objects that are written once and whole.
pub trait Objects: Send + Sync + 'static {
    /// Writes an object and returns when it is durable under its name. `parts` are its bytes in
    /// order, at least one and at most `u32::MAX`.
    fn put(
        &self,
        object: ObjectId,
        parts: Vec<Bytes>,
    ) -> BoxFuture<'_, Result<Location, StoreError>>;

    /// Reads `length` bytes at `position`: exactly that many, or an error.
    fn read(
        &self,
        object: FileId,
        position: u64,
        length: usize,
    ) -> BoxFuture<'_, Result<Bytes, StoreError>>;

    /// Deletes an object. Deleting one that does not exist succeeds.
    fn delete(&self, object: FileId) -> BoxFuture<'_, Result<(), StoreError>>;

    /// All objects present, sorted. May miss those written meanwhile.
    fn list(&self) -> BoxFuture<'_, Result<Vec<StoredFile>, StoreError>>;
}

/// Shared objects.
pub type SharedObjects = Arc<dyn Objects>;

#[cfg(test)]
mod conformance;
