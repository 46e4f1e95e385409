//! The files that are open for reading: a bounded number, the least recently read closed first.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tidemill_appendfile::{ReadFile, SharedDisk};
use tidemill_base::FileId;

use crate::file_name::append_file_path;
use crate::log_store::StoreError;

/// Files open for reading.
pub(super) struct OpenFiles {
    files_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<FileId, (Arc<dyn ReadFile>, u64)>,
    /// Counts reads, to tell which file was read last.
    reads_count: u64,
}

impl OpenFiles {
    pub(super) fn new(files_max: usize) -> Self {
        Self { files_max: files_max.max(1), state: Mutex::default() }
    }

    /// The open file, opened if it was not.
    pub(super) async fn get(
        &self,
        file: FileId,
        disk: &SharedDisk,
    ) -> Result<Arc<dyn ReadFile>, StoreError> {
        if let Some(opened) = self.find(file) {
            return Ok(opened);
        }
        let opened = disk
            .open(&append_file_path(&file))
            .await
            .map_err(|error| StoreError::from_disk("read", file.to_string(), error))?;
        self.keep(file, &opened);
        Ok(opened)
    }

    /// Closes the file once those who read it are done.
    pub(super) fn forget(&self, file: FileId) {
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
