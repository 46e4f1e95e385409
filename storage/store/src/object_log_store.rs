//! The `LogStore` of an object store: each log object under a key of its own.
//!
//! Invariants:
//! - A key is written once, by a conditional put. It names its flush and its body's CRC-32C, so that a
//!   key that exists with the same length is the same object, put by an earlier try.
//! - A store that ignores conditions is refused when it is opened, by name.
//!
//! Not here: making clients of object stores; the caller hands one in. Hedging comes with S3.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use parking_lot::Mutex;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{ErrorKind, FileId, FileNumber, LaneKey, Location, ObjectId};

use crate::file_name::{LOG_DIRECTORY, object_directory, object_key, parse_object};
use crate::log_store::{LogStore, Shape, StoreError, StoredFile};

mod error;
mod probe;

pub(crate) use error::store_error;

/// Keys remembered, so that a read need not list.
const KEYS_MAX: usize = 65_536;

/// Log objects in an object store.
pub struct ObjectLogStore {
    store: Arc<dyn ObjectStore>,
    directory: &'static str,
    /// The body's CRC of objects put or found, which their keys name.
    crcs: Mutex<BTreeMap<FileId, u32>>,
}

impl ObjectLogStore {
    /// Opens a store after trying out what it must be able to do. `probe` is a number that no other
    /// process uses at the same time; it names the object of the trial.
    ///
    /// # Errors
    /// `Invalid`, naming what the store does not keep; else what the store answered.
    pub async fn open(store: Arc<dyn ObjectStore>, probe: u64) -> Result<Self, StoreError> {
        probe::try_out(store.as_ref(), probe).await?;
        Ok(Self::under(LOG_DIRECTORY, store))
    }

    /// The objects under another directory of a store that was tried out.
    pub(crate) fn under(directory: &'static str, store: Arc<dyn ObjectStore>) -> Self {
        Self { store, directory, crcs: Mutex::default() }
    }

    pub(crate) async fn put_once(
        &self,
        file: FileId,
        parts: Vec<Bytes>,
    ) -> Result<Location, StoreError> {
        let crc = parts.iter().fold(0, |crc, part| crc32c::crc32c_append(crc, part));
        let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let invalid = || {
            let reason = "an object is empty or longer than 4 GiB";
            StoreError::new("put", file.to_string(), ErrorKind::Invalid, reason)
        };
        let short = u32::try_from(length).ok().filter(|length| *length > 0).ok_or_else(invalid)?;
        let key = Path::from(object_key(self.directory, &file, crc));
        let payload: PutPayload = parts.into_iter().filter(|part| !part.is_empty()).collect();
        match self.store.put_opts(&key, payload, PutMode::Create.into()).await {
            Ok(_) => {}
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => {
                self.check_same(&key, length).await?;
            }
            Err(error) => return Err(store_error("put", key.as_ref(), &error)),
        }
        self.remember(file, crc);
        Ok(Location { file, position: 0, length: short })
    }

    /// The key is taken: by an earlier try of the same put if the length is the same.
    async fn check_same(&self, key: &Path, length: u64) -> Result<(), StoreError> {
        let found = self.store.head(key).await;
        let found = found.map_err(|error| StoreError {
            // It was there a moment ago; whether it is now is not known.
            kind: ErrorKind::Ambiguous,
            ..store_error("put", key.as_ref(), &error)
        })?;
        if found.size == length {
            return Ok(());
        }
        let reason = format!("the key holds another object of {} bytes", found.size);
        Err(StoreError::new("put", key.to_string(), ErrorKind::Conflict, reason))
    }

    fn remember(&self, file: FileId, crc: u32) {
        let mut crcs = self.crcs.lock();
        crcs.insert(file, crc);
        while crcs.len() > KEYS_MAX {
            crcs.pop_first();
        }
    }

    /// The object's key: from memory, else from a listing of what begins with its name.
    async fn key(&self, file: FileId) -> Result<Path, StoreError> {
        let known = self.crcs.lock().get(&file).copied();
        if let Some(crc) = known {
            return Ok(Path::from(object_key(self.directory, &file, crc)));
        }
        let directory = Path::from(object_directory(self.directory, &file));
        let mut listed = self.store.list(Some(&directory));
        while let Some(meta) = listed.next().await {
            let meta = meta.map_err(|error| store_error("read", directory.as_ref(), &error))?;
            if let Some((found, crc)) = parse_object(self.directory, meta.location.as_ref())
                && found == file
            {
                self.remember(file, crc);
                return Ok(meta.location);
            }
        }
        Err(StoreError::new("read", file.to_string(), ErrorKind::NotFound, "no such object"))
    }
}

impl LogStore for ObjectLogStore {
    fn shape(&self) -> Shape {
        Shape::ImmutableObjects
    }

    fn put(
        &self,
        object: ObjectId,
        parts: Vec<Bytes>,
    ) -> BoxFuture<'_, Result<Location, StoreError>> {
        Box::pin(self.put_once(file_of(object), parts))
    }

    fn abandon_file(&self, _lane: LaneKey) {}

    fn read(
        &self,
        file: FileId,
        position: u64,
        length: usize,
    ) -> BoxFuture<'_, Result<Bytes, StoreError>> {
        Box::pin(async move {
            let key = self.key(file).await?;
            if length == 0 {
                return Ok(Bytes::new());
            }
            let end = position.saturating_add(length as u64);
            let read = self.store.get_range(&key, position..end).await;
            let bytes = read.map_err(|error| store_error("read", key.as_ref(), &error))?;
            if bytes.len() == length {
                return Ok(bytes);
            }
            let reason = format!("{} of {length} bytes at {position}, then the end", bytes.len());
            Err(StoreError::new("read", key.to_string(), ErrorKind::Corrupt, reason))
        })
    }

    fn delete(&self, file: FileId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let key = match self.key(file).await {
                Ok(key) => key,
                Err(error) if error.kind == ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            };
            self.crcs.lock().remove(&file);
            match self.store.delete(&key).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(store_error("delete", key.as_ref(), &error)),
            }
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<StoredFile>, StoreError>> {
        Box::pin(async move {
            let listed = self.store.list(Some(&Path::from(self.directory)));
            let found: Vec<Option<StoredFile>> = listed
                .map_ok(|meta| {
                    let (file, _) = parse_object(self.directory, meta.location.as_ref())?;
                    Some(StoredFile { file, length: meta.size })
                })
                .try_collect()
                .await
                .map_err(|error| store_error("list", self.directory, &error))?;
            let mut files: Vec<StoredFile> = found.into_iter().flatten().collect();
            files.sort_unstable();
            Ok(files)
        })
    }

    fn free_bytes(&self) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// The file that an immutable object is.
pub(crate) fn file_of(object: ObjectId) -> FileId {
    let (incarnation, lane) = (object.incarnation, object.lane);
    FileId { incarnation, lane, number: FileNumber(0), sequence: object.sequence.0 }
}

#[cfg(test)]
mod object_log_store_test;
