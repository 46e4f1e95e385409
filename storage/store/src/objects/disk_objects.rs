//! Side objects on a disk: written beside their name, synced, renamed.

use bytes::Bytes;
use tidemill_appendfile::{DiskError, SharedDisk};
use tidemill_base::ports::{BoxFuture, SharedSpawn};
use tidemill_base::{ErrorKind, FileId, Location, ObjectId};
use tokio::sync::oneshot;

use super::Objects;
use crate::file_name::{OBJECTS_DIRECTORY, parse_side_object, side_object_path};
use crate::log_store::{StoreError, StoredFile};
use crate::object_log_store::file_of;
use crate::open_files::OpenFiles;

/// What the name of an object ends with while it is being written.
const UNFINISHED: &str = ".tmp";

/// Objects kept open for reading.
const OPEN_FILES_MAX: usize = 64;

/// Side objects on one disk.
pub struct DiskObjects {
    disk: SharedDisk,
    spawn: SharedSpawn,
    open_files: OpenFiles,
}

impl DiskObjects {
    /// Opens the side objects of `disk`, which is this process's alone, and removes what an earlier
    /// life left unfinished. Each put runs on a thread of its own through `spawn`.
    ///
    /// # Errors
    /// Those of listing and removing.
    pub async fn open(disk: SharedDisk, spawn: SharedSpawn) -> Result<Self, StoreError> {
        let failed = |error| StoreError::from_disk("open", OBJECTS_DIRECTORY, error);
        for entry in disk.list(OBJECTS_DIRECTORY).await.map_err(failed)? {
            if entry.name.ends_with(UNFINISHED) {
                let path = format!("{OBJECTS_DIRECTORY}/{}", entry.name);
                disk.remove(&path).await.map_err(failed)?;
            }
        }
        let open_files = OpenFiles::new(OPEN_FILES_MAX, side_object_path);
        Ok(Self { disk, spawn, open_files })
    }

    async fn put_whole(&self, object: ObjectId, parts: Vec<Bytes>) -> Result<Location, StoreError> {
        let file = file_of(object);
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let length = u32::try_from(bytes).ok().filter(|length| *length > 0).ok_or_else(|| {
            let reason = "an object is empty or longer than 4 GiB";
            StoreError::new("put", file.to_string(), ErrorKind::Invalid, reason)
        })?;
        let (done, answer) = oneshot::channel();
        let (disk, path) = (self.disk.clone(), side_object_path(&file));
        let write = async move {
            let written = write_whole(&disk, &path, &parts, bytes).await;
            // A caller that has gone away needs no answer.
            let _ = done.send(written);
        };
        self.spawn.dedicated("put-object", Box::pin(write));
        let written = answer.await.map_err(|_| {
            let reason = "its task ended before it was durable";
            StoreError::new("put", file.to_string(), ErrorKind::Ambiguous, reason)
        })?;
        written.map_err(|error| StoreError::from_disk("put", file.to_string(), error))?;
        // A reader that opened an earlier copy goes on with that one.
        self.open_files.forget(file);
        Ok(Location { file, position: 0, length })
    }
}

impl Objects for DiskObjects {
    fn put(
        &self,
        object: ObjectId,
        parts: Vec<Bytes>,
    ) -> BoxFuture<'_, Result<Location, StoreError>> {
        Box::pin(self.put_whole(object, parts))
    }

    fn read(
        &self,
        object: FileId,
        position: u64,
        length: usize,
    ) -> BoxFuture<'_, Result<Bytes, StoreError>> {
        Box::pin(self.open_files.read(&self.disk, object, position, length))
    }

    fn delete(&self, object: FileId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.open_files.forget(object);
            let removed = self.disk.remove(&side_object_path(&object)).await;
            removed.map_err(|error| StoreError::from_disk("delete", object.to_string(), error))
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<StoredFile>, StoreError>> {
        Box::pin(async move {
            let entries = self.disk.list(OBJECTS_DIRECTORY).await;
            let entries =
                entries.map_err(|error| StoreError::from_disk("list", OBJECTS_DIRECTORY, error))?;
            let found = entries.into_iter().filter_map(|entry| {
                let file = parse_side_object(&entry.name)?;
                Some(StoredFile { file, length: entry.length })
            });
            let mut files: Vec<StoredFile> = found.collect();
            files.sort_unstable();
            Ok(files)
        })
    }
}

async fn write_whole(
    disk: &SharedDisk,
    path: &str,
    parts: &[Bytes],
    bytes: u64,
) -> Result<(), DiskError> {
    let unfinished = format!("{path}{UNFINISHED}");
    // An earlier try of the same put may have failed half way.
    disk.remove(&unfinished).await?;
    let written = async {
        let mut file = disk.create(&unfinished, bytes).await?;
        file.write(parts).await?;
        file.sync().await
    };
    if let Err(error) = written.await {
        let _ = disk.remove(&unfinished).await;
        return Err(error);
    }
    disk.rename(&unfinished, path).await
}
