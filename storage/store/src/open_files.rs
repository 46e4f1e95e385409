//! The files that are open for reading: a bounded number, the least recently read closed first.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tidemill_appendfile::scan::read_fully;
use tidemill_appendfile::{ReadFile, SharedDisk};
use tidemill_base::{ErrorKind, FileId, FileRange};

use crate::log_store::StoreError;

/// Files open for reading.
pub(crate) struct OpenFiles {
    files_max: usize,
    path_of: fn(&FileId) -> String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<FileId, (Arc<dyn ReadFile>, u64)>,
    /// Counts reads, to tell which file was read last.
    reads_count: u64,
}

impl OpenFiles {
    /// None yet, and at most `files_max` ever; `path_of` tells where a file lies.
    pub(crate) fn new(files_max: usize, path_of: fn(&FileId) -> String) -> Self {
        Self { files_max: files_max.max(1), path_of, state: Mutex::default() }
    }

    /// Exactly `length` bytes at `position` of a file.
    pub(crate) async fn read(
        &self,
        disk: &SharedDisk,
        file: FileId,
        position: u64,
        length: usize,
    ) -> Result<Bytes, StoreError> {
        let failed = |error| StoreError::from_disk("read", file.to_string(), error);
        let opened = self.get(file, disk).await?;
        let bytes = read_fully(opened.as_ref(), position, length).await.map_err(failed)?;
        if bytes.len() == length {
            return Ok(bytes);
        }
        let reason = format!("{} of {length} bytes at {position}, then the end", bytes.len());
        Err(StoreError::new("read", file.to_string(), ErrorKind::Corrupt, reason))
    }

    /// The open file, opened if it was not.
    pub(crate) async fn get(
        &self,
        file: FileId,
        disk: &SharedDisk,
    ) -> Result<Arc<dyn ReadFile>, StoreError> {
        if let Some(opened) = self.find(file) {
            return Ok(opened);
        }
        let opened = disk
            .open(&(self.path_of)(&file))
            .await
            .map_err(|error| StoreError::from_disk("read", file.to_string(), error))?;
        self.keep(file, &opened);
        Ok(opened)
    }

    /// [`ReadFile::peek`] at a file that is open.
    pub(crate) fn peek(&self, file: FileId, position: u64, buffer: &mut [u8]) -> bool {
        self.find(file).is_some_and(|opened| opened.peek(position, buffer))
    }

    /// [`ReadFile::lend`] of a file that is open.
    pub(crate) fn lend(&self, file: FileId, position: u64, length: usize) -> Option<FileRange> {
        self.find(file)?.lend(position, length)
    }

    /// Closes the file once those who read it are done.
    pub(crate) fn forget(&self, file: FileId) {
        self.state.lock().files.remove(&file);
    }

    fn find(&self, file: FileId) -> Option<Arc<dyn ReadFile>> {
        let mut state = self.state.lock();
        state.reads_count += 1;
        let now = state.reads_count;
        let (opened, last_read) = state.files.get_mut(&file)?;
        *last_read = now;
        Some(Arc::clone(opened))
    }

    fn keep(&self, file: FileId, opened: &Arc<dyn ReadFile>) {
        let mut state = self.state.lock();
        let now = state.reads_count;
        state.files.insert(file, (Arc::clone(opened), now));
        while state.files.len() > self.files_max {
            let Some(oldest) =
                state.files.iter().min_by_key(|(_, (_, read))| *read).map(|(file, _)| *file)
            else {
                return;
            };
            state.files.remove(&oldest);
        }
    }
}
