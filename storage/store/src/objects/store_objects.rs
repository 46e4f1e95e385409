//! Side objects in an object store: one conditional put each.

use std::sync::Arc;

use bytes::Bytes;
use object_store::ObjectStore;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{FileId, Location, ObjectId};

use super::Objects;
use crate::file_name::OBJECTS_DIRECTORY;
use crate::log_store::{LogStore, StoreError, StoredFile};
use crate::object_log_store::{ObjectLogStore, file_of};

/// Side objects in an object store that a log store was opened on, which tried it out.
pub struct StoreObjects {
    store: ObjectLogStore,
}

impl StoreObjects {
    /// The side objects of `store`.
    #[must_use]
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store: ObjectLogStore::under(OBJECTS_DIRECTORY, store) }
    }
}

impl Objects for StoreObjects {
    fn put(
        &self,
        object: ObjectId,
        parts: Vec<Bytes>,
    ) -> BoxFuture<'_, Result<Location, StoreError>> {
        Box::pin(self.store.put_once(file_of(object), parts))
    }

    fn read(
        &self,
        object: FileId,
        position: u64,
        length: usize,
    ) -> BoxFuture<'_, Result<Bytes, StoreError>> {
        self.store.read(object, position, length)
    }

    fn delete(&self, object: FileId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.delete(object)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<StoredFile>, StoreError>> {
        self.store.list()
    }
}
