//! The `Disk` of a machine: one directory tree, held by one process.
//!
//! Invariants:
//! - An exclusive lock on the file `LOCK` is held as long as the disk or any file opened through it
//!   lives; a second process is refused by name of the first.
//! - Names are durable when a call returns: the directory is synced after create, rename and remove.
//!
//! Not here: any idea of what the files hold.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;
use tidemill_base::ErrorKind;
use tidemill_base::ports::BoxFuture;

use crate::disk::{Disk, DiskEntry, DiskError, ReadFile, WriteFile};

mod io_error;
mod lock;
mod read_file;
mod write_file;

use io_error::{failed, off_thread};
use lock::DirectoryLock;

/// A data directory on a disk of this machine.
#[derive(Clone, Debug)]
pub struct RealDisk {
    root: Arc<Root>,
}

#[derive(Debug)]
struct Root {
    path: PathBuf,
    _lock: DirectoryLock,
}

impl RealDisk {
    /// Takes the directory `root`, which is made if missing. Blocks. Fails with `Conflict` while
    /// another process holds it.
    pub fn open(root: &Path) -> Result<Self, DiskError> {
        fs::create_dir_all(root).map_err(|error| failed("create", "", &error))?;
        let path = root.canonicalize().map_err(|error| failed("open", "", &error))?;
        let lock = DirectoryLock::take(&path)?;
        Ok(Self { root: Arc::new(Root { path, _lock: lock }) })
    }

    /// The data directory's absolute path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root.path
    }
}

impl Root {
    /// The absolute path of `path`, which must stay within the data directory.
    fn resolve(&self, operation: &'static str, path: &str) -> Result<PathBuf, DiskError> {
        let stays = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if stays && !path.contains('\0') {
            Ok(self.path.join(path))
        } else {
            Err(DiskError::new(operation, path, ErrorKind::Invalid, "not a path within the data"))
        }
    }

    fn create(&self, path: &str, allocate_bytes: u64) -> Result<File, DiskError> {
        let full = self.resolve("create", path)?;
        let parent = self.make_parents(path, &full)?;
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&full)
            .map_err(|error| failed("create", path, &error))?;
        if let Err(error) = reserve(&file, 0, allocate_bytes) {
            let _ = fs::remove_file(&full);
            return Err(failed("create", path, &error));
        }
        sync_directory(&parent).map_err(|error| failed("create", path, &error))?;
        Ok(file)
    }

    /// Makes the missing directories above `full` durable, and returns the one that holds it.
    fn make_parents(&self, path: &str, full: &Path) -> Result<PathBuf, DiskError> {
        let parent = full.parent().unwrap_or(&self.path).to_owned();
        let missing: Vec<&Path> = parent.ancestors().take_while(|above| !above.exists()).collect();
        for directory in missing.into_iter().rev() {
            match fs::create_dir(directory) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("create", path, &error)),
            }
            let above = directory.parent().unwrap_or(&self.path);
            sync_directory(above).map_err(|error| failed("create", path, &error))?;
        }
        Ok(parent)
    }

    fn list(&self, directory: &str) -> Result<Vec<DiskEntry>, DiskError> {
        let full =
            if directory.is_empty() { self.path.clone() } else { self.resolve("list", directory)? };
        let entries = match fs::read_dir(full) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("list", directory, &error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed("list", directory, &error))?;
            // A file may be removed between the listing and the look at it.
            let Ok(metadata) = entry.metadata() else { continue };
            if let (true, Ok(name)) = (metadata.is_file(), entry.file_name().into_string()) {
                found.push(DiskEntry { name, length: metadata.len() });
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn truncate(&self, path: &str, length: u64) -> Result<(), DiskError> {
        let full = self.resolve("truncate", path)?;
        let cut = || {
            let file = OpenOptions::new().write(true).open(full)?;
            file.set_len(length)?;
            file.sync_all()
        };
        cut().map_err(|error| failed("truncate", path, &error))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DiskError> {
        let full_from = self.resolve("rename", from)?;
        let full_to = self.resolve("rename", to)?;
        let parent = self.make_parents(to, &full_to)?;
        fs::rename(&full_from, full_to).map_err(|error| failed("rename", from, &error))?;
        let from_parent = full_from.parent().unwrap_or(&self.path);
        sync_directory(&parent)
            .and_then(|()| if from_parent == parent { Ok(()) } else { sync_directory(from_parent) })
            .map_err(|error| failed("rename", from, &error))
    }

    fn remove(&self, path: &str) -> Result<(), DiskError> {
        let full = self.resolve("remove", path)?;
        match fs::remove_file(&full) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("remove", path, &error)),
        }
        sync_directory(full.parent().unwrap_or(&self.path))
            .map_err(|error| failed("remove", path, &error))
    }
}

impl Disk for RealDisk {
    fn create<'a>(
        &'a self,
        path: &'a str,
        allocate_bytes: u64,
    ) -> BoxFuture<'a, Result<Box<dyn WriteFile>, DiskError>> {
        Box::pin(async move {
            let file = self.root.create(path, allocate_bytes)?;
            let root = Arc::clone(&self.root);
            let file = write_file::RealWriteFile::new(root, file, path, allocate_bytes);
            Ok(Box::new(file) as Box<dyn WriteFile>)
        })
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Arc<dyn ReadFile>, DiskError>> {
        Box::pin(async move {
            let full = self.root.resolve("open", path)?;
            let file = open_to_read(&full).map_err(|error| failed("open", path, &error))?;
            let file = read_file::RealReadFile::new(Arc::clone(&self.root), file, path);
            Ok(Arc::new(file) as Arc<dyn ReadFile>)
        })
    }

    fn list<'a>(&'a self, directory: &'a str) -> BoxFuture<'a, Result<Vec<DiskEntry>, DiskError>> {
        let (root, directory) = (Arc::clone(&self.root), directory.to_owned());
        Box::pin(off_thread("list", move || root.list(&directory)))
    }

    fn truncate<'a>(&'a self, path: &'a str, length: u64) -> BoxFuture<'a, Result<(), DiskError>> {
        let (root, path) = (Arc::clone(&self.root), path.to_owned());
        Box::pin(off_thread("truncate", move || root.truncate(&path, length)))
    }

    fn sync_existing<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        let (root, path) = (Arc::clone(&self.root), path.to_owned());
        Box::pin(off_thread("sync", move || {
            let full = root.resolve("sync", &path)?;
            File::open(full)
                .and_then(|file| file.sync_all())
                .map_err(|error| failed("sync", &path, &error))
        }))
    }

    fn rename<'a>(&'a self, from: &'a str, to: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        let (root, from, to) = (Arc::clone(&self.root), from.to_owned(), to.to_owned());
        Box::pin(off_thread("rename", move || root.rename(&from, &to)))
    }

    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), DiskError>> {
        let (root, path) = (Arc::clone(&self.root), path.to_owned());
        Box::pin(off_thread("remove", move || root.remove(&path)))
    }

    fn free_bytes(&self) -> BoxFuture<'_, Result<u64, DiskError>> {
        let root = Arc::clone(&self.root);
        Box::pin(off_thread("measure", move || {
            let found =
                statvfs(&root.path).map_err(|error| failed("measure", "", &error.into()))?;
            Ok(found.f_bavail.saturating_mul(found.f_frsize))
        }))
    }
}

/// Opens a file for reading. That it is read is noted nowhere, if the system allows to ask for that
/// (it does for the file's owner): noting it costs a look at the clock for every read.
fn open_to_read(path: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let unnoted = rustix::fs::OFlags::NOATIME.bits().cast_signed();
        match OpenOptions::new().read(true).custom_flags(unnoted).open(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            opened => return opened,
        }
    }
    File::open(path)
}

/// Reserves space, on file systems that can; on others the file simply grows.
fn reserve(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), from, bytes) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod real_disk_test;
