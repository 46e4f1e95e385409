//! Reading a file of the real disk: at once if the page cache has it, else beside the runtime.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use rustix::io::{ReadWriteFlags, preadv2};
use tidemill_base::ports::BoxFuture;
use tidemill_base::{FileRange, LendingFile};

use super::Root;
use super::io_error::{failed, off_thread};
use crate::disk::{DiskError, ReadFile};

/// Up to this length a read first asks for what is in memory; copying more would hold up the
/// caller's runtime.
const IN_PLACE_BYTES_MAX: usize = 256 * 1024;

/// A range that is lent is looked at once in so many bytes, and not at its start, which whoever borrows
/// it has just peeked at: the system reads ahead and drops pages in long runs, and each look costs as
/// much as sending two KiB.
const PROBE_BYTES: u64 = 256 * 1024;

/// A file being read.
pub(super) struct RealReadFile {
    opened: Arc<Opened>,
}

struct Opened {
    _root: Arc<Root>,
    file: File,
    path: String,
}

impl RealReadFile {
    pub(super) fn new(root: Arc<Root>, file: File, path: &str) -> Self {
        Self { opened: Arc::new(Opened { _root: root, file, path: path.to_owned() }) }
    }
}

impl Opened {
    /// Fills `buffer` from `filled` on until it is full or the file ends.
    fn read_rest(
        &self,
        position: u64,
        mut buffer: Vec<u8>,
        mut filled: usize,
    ) -> Result<Bytes, DiskError> {
        while filled < buffer.len() {
            match self.file.read_at(&mut buffer[filled..], position + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("read", &self.path, &error)),
            }
        }
        buffer.truncate(filled);
        Ok(Bytes::from(buffer))
    }

    /// Reads what is in memory already; 0 where that is nothing or cannot be asked.
    fn read_cached(&self, position: u64, buffer: &mut [u8]) -> usize {
        let mut slices = [IoSliceMut::new(buffer)];
        preadv2(&self.file, &mut slices, position, ReadWriteFlags::NOWAIT).unwrap_or(0)
    }

    fn is_cached(&self, position: u64) -> bool {
        self.read_cached(position, &mut [0]) == 1
    }
}

impl LendingFile for Opened {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }

    fn read_exact_at(&self, position: u64, length: usize) -> io::Result<Bytes> {
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, position)?;
        Ok(Bytes::from(buffer))
    }
}

impl ReadFile for RealReadFile {
    fn peek(&self, position: u64, buffer: &mut [u8]) -> bool {
        self.opened.read_cached(position, buffer) == buffer.len()
    }

    fn lend(&self, position: u64, length: usize) -> Option<FileRange> {
        let end = position.checked_add(length as u64)?;
        let mut probe = position + PROBE_BYTES;
        while probe < end {
            if !self.opened.is_cached(probe) {
                return None;
            }
            probe += PROBE_BYTES;
        }
        let file = Arc::clone(&self.opened) as Arc<dyn LendingFile>;
        Some(FileRange::new(file, position, length))
    }

    fn read(&self, position: u64, length: usize) -> BoxFuture<'_, Result<Bytes, DiskError>> {
        Box::pin(async move {
            let mut buffer = vec![0; length];
            let mut filled = 0;
            if length <= IN_PLACE_BYTES_MAX {
                filled = self.opened.read_cached(position, &mut buffer);
                if filled == length {
                    return Ok(Bytes::from(buffer));
                }
            }
            let opened = Arc::clone(&self.opened);
            off_thread("read", move || opened.read_rest(position, buffer, filled)).await
        })
    }

    fn length(&self) -> BoxFuture<'_, Result<u64, DiskError>> {
        Box::pin(async move {
            let found = self.opened.file.metadata();
            Ok(found.map_err(|error| failed("measure", &self.opened.path, &error))?.len())
        })
    }
}
