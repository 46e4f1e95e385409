//! Reading a file of the disk in memory, also by lending it.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use tidemill_base::ports::BoxFuture;
use tidemill_base::{FileRange, LendingFile};

use super::memory_file::MemoryFile;
use super::{MemoryDisk, check_life, lock};
use crate::disk::{DiskError, ReadFile};

pub(super) struct MemoryReadFile {
    opened: Arc<Opened>,
}

struct Opened {
    disk: MemoryDisk,
    file: Arc<Mutex<MemoryFile>>,
    life: u64,
    path: String,
}

impl MemoryReadFile {
    pub(super) fn new(
        disk: MemoryDisk,
        file: Arc<Mutex<MemoryFile>>,
        life: u64,
        path: &str,
    ) -> Self {
        Self { opened: Arc::new(Opened { disk, file, life, path: path.to_owned() }) }
    }
}

impl Opened {
    fn read_now(&self, position: u64, length: usize) -> Result<Bytes, DiskError> {
        check_life(&self.disk, self.life, "read", &self.path)?;
        let mut buffer = BytesMut::new();
        lock(&self.file).read(position, length, &mut buffer);
        Ok(buffer.freeze())
    }
}

impl LendingFile for Opened {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn read_exact_at(&self, position: u64, length: usize) -> io::Result<Bytes> {
        let bytes = self.read_now(position, length).map_err(io::Error::other)?;
        match bytes.len() == length {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl ReadFile for MemoryReadFile {
    fn read(&self, position: u64, length: usize) -> BoxFuture<'_, Result<Bytes, DiskError>> {
        Box::pin(async move { self.opened.read_now(position, length) })
    }

    fn length(&self) -> BoxFuture<'_, Result<u64, DiskError>> {
        Box::pin(async move {
            check_life(&self.opened.disk, self.opened.life, "measure", &self.opened.path)?;
            Ok(lock(&self.opened.file).length())
        })
    }

    fn peek(&self, position: u64, buffer: &mut [u8]) -> bool {
        match self.opened.read_exact_at(position, buffer.len()) {
            Ok(bytes) => {
                buffer.copy_from_slice(&bytes);
                true
            }
            Err(_) => false,
        }
    }

    fn lend(&self, position: u64, length: usize) -> Option<FileRange> {
        let file = Arc::clone(&self.opened) as Arc<dyn LendingFile>;
        Some(FileRange::new(file, position, length))
    }
}
