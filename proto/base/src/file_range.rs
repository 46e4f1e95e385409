//! Bytes that lie in an open file, named instead of read.
//!
//! A range is handed from the store to the socket, which takes the bytes from the system's page cache
//! without a copy through this process. Nothing here reads: the file's owner and the socket do.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use bytes::Bytes;

/// An open file whose committed bytes never change, and that stays readable as long as it is held.
pub trait LendingFile: Send + Sync {
    /// What the system knows the file by; `None` for one that lives in this process's memory.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Reads exactly `length` bytes at `position`. May block.
    ///
    /// # Errors
    /// Those of the system; `UnexpectedEof` if the file ends before.
    fn read_exact_at(&self, position: u64, length: usize) -> io::Result<Bytes>;
}

/// A range of an open file. Cheap to clone; holds the file open and no memory.
#[derive(Clone)]
pub struct FileRange {
    file: Arc<dyn LendingFile>,
    position: u64,
    length: usize,
}

impl FileRange {
    /// `length` bytes at `position` of a file.
    #[must_use]
    pub fn new(file: Arc<dyn LendingFile>, position: u64, length: usize) -> Self {
        Self { file, position, length }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Arc<dyn LendingFile> {
        &self.file
    }

    /// The first byte, counted from the file's start.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Leaves out the first `count` bytes, or all if there are fewer.
    pub fn advance(&mut self, count: usize) {
        let count = count.min(self.length);
        self.position += count as u64;
        self.length -= count;
    }

    /// A part of the range, or `None` if it does not lie within.
    #[must_use]
    pub fn slice(&self, from: usize, length: usize) -> Option<Self> {
        let fits = from.checked_add(length).is_some_and(|end| end <= self.length);
        fits.then(|| Self {
            file: Arc::clone(&self.file),
            position: self.position + from as u64,
            length,
        })
    }

    /// The bytes, for those who need them in memory. May block.
    ///
    /// # Errors
    /// As [`LendingFile::read_exact_at`].
    pub fn read(&self) -> io::Result<Bytes> {
        self.file.read_exact_at(self.position, self.length)
    }
}

impl fmt::Debug for FileRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileRange({} bytes at {})", self.length, self.position)
    }
}
