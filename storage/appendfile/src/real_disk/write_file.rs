//! Writing to a file of the real disk. Blocks in place.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::ports::BoxFuture;

use super::io_error::failed;
use super::{Root, reserve};
use crate::disk::{DiskError, WriteFile};

/// The most parts one system call takes (`IOV_MAX` on Linux).
const PARTS_MAX: usize = 1024;

/// Up to this size a write takes zeros along for the writes that follow.
///
/// The first write into reserved space makes the file system record that the space is in use, which
/// costs the next sync a commit of its journal; overwriting zeros does not (docs/formats/append-file.md
/// has the figures: 84 against 134 us). Large writes gain less than the second copy costs.
const SMALL_WRITE_BYTES: u64 = 8 * 1024;

/// How many zeros are written ahead: one small write in 128 or more pays for the others.
const ZEROS_AHEAD_BYTES: u64 = 1024 * 1024;

static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// A file being written.
pub(super) struct RealWriteFile {
    _root: Arc<Root>,
    file: File,
    path: String,
    position: u64,
    allocated_bytes: u64,
    /// Up to here the file holds data or zeros that were written.
    zeroed_up_to: u64,
}

impl RealWriteFile {
    pub(super) fn new(root: Arc<Root>, file: File, path: &str, allocated_bytes: u64) -> Self {
        let path = path.to_owned();
        Self { _root: root, file, path, position: 0, allocated_bytes, zeroed_up_to: 0 }
    }

    fn write_now(&mut self, parts: &[Bytes]) -> io::Result<()> {
        let start = self.position;
        for chunk in parts.chunks(PARTS_MAX) {
            let mut slices: Vec<IoSlice<'_>> =
                chunk.iter().map(|part| IoSlice::new(part)).collect();
            let mut left = &mut slices[..];
            // Leading empty slices would make a write of zero bytes look like a full disk.
            IoSlice::advance_slices(&mut left, 0);
            while !left.is_empty() {
                match self.file.write_vectored(left) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        self.position += written as u64;
                        IoSlice::advance_slices(&mut left, written);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.zero_ahead(self.position - start)
    }

    fn zero_ahead(&mut self, written: u64) -> io::Result<()> {
        if self.position <= self.zeroed_up_to || written > SMALL_WRITE_BYTES {
            return Ok(());
        }
        let mut at = self.position;
        let end = (at + ZEROS_AHEAD_BYTES).min(self.allocated_bytes);
        while at < end {
            let now = (end - at).min(ZEROS.len() as u64) as usize;
            self.file.write_all_at(&ZEROS[..now], at)?;
            at += now as u64;
        }
        self.zeroed_up_to = at;
        Ok(())
    }
}

impl WriteFile for RealWriteFile {
    fn write<'a>(&'a mut self, parts: &'a [Bytes]) -> BoxFuture<'a, Result<(), DiskError>> {
        Box::pin(async move {
            self.write_now(parts).map_err(|error| failed("write", &self.path, &error))
        })
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            self.file.sync_data().map_err(|error| failed("sync", &self.path, &error))
        })
    }

    fn reserve(&mut self, length: u64) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            if length <= self.allocated_bytes {
                return Ok(());
            }
            reserve(&self.file, self.allocated_bytes, length - self.allocated_bytes)
                .map_err(|error| failed("reserve", &self.path, &error))?;
            self.allocated_bytes = length;
            Ok(())
        })
    }

    fn position(&self) -> u64 {
        self.position
    }
}
