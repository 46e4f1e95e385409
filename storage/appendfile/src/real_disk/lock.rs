//! The lock that keeps a second process out of a data directory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use tidemill_base::ErrorKind;

use super::io_error::failed;
use crate::disk::DiskError;

/// The lock's name in the data directory. It holds the process id of its holder, for people.
const NAME: &str = "LOCK";

/// An exclusive lock, released when dropped or when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    pub(super) fn take(root: &Path) -> Result<Self, DiskError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(root.join(NAME))
            .map_err(|error| failed("lock", NAME, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(root, &mut file)),
            Err(TryLockError::Error(error)) => return Err(failed("lock", NAME, &error)),
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            writeln!(file, "{}", std::process::id())
        };
        write(&mut file).map_err(|error| failed("lock", NAME, &error))?;
        Ok(Self { _file: file })
    }
}

fn held(root: &Path, file: &mut File) -> DiskError {
    let mut holder = String::new();
    let known = file.rewind().is_ok() && file.take(20).read_to_string(&mut holder).is_ok();
    let holder = holder.trim();
    let who = if known && !holder.is_empty() {
        format!("process {holder}")
    } else {
        "another process".to_owned()
    };
    let reason = format!("{} is in use by {who}", root.display());
    DiskError::new("lock", NAME, ErrorKind::Conflict, reason)
}
