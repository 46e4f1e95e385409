//! The folder that holds everything a server keeps.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::statvfs;
use tidemill_appendfile::{RealDisk, SharedDisk};
use tidemill_base::ErrorKind;
use tidemill_base::ports::SharedSpawn;
use tidemill_metadata_raft::{RedbStore, SharedStore};
use tidemill_storage_store::{
    DiskObjects, FileLogConfig, FileLogStore, SharedObjects, SpaceGuard, SpaceLimits,
};

use crate::config::LogSection;
use crate::failure::Failure;

/// A data folder that is this process's alone.
pub(super) struct DataFolder {
    disk: SharedDisk,
    root: PathBuf,
}

impl DataFolder {
    /// Takes the folder, which is made if it is missing.
    ///
    /// # Errors
    /// Another process holds it, or it cannot be made.
    pub(super) fn take(path: &str) -> Result<Self, Failure> {
        match RealDisk::open(Path::new(path)) {
            Ok(disk) => {
                let root = disk.root().to_owned();
                let disk: SharedDisk = Arc::new(disk);
                #[cfg(feature = "hurt")]
                let disk = crate::serve::hurt::slowed(disk);
                Ok(Self { disk, root })
            }
            Err(error) if error.kind == ErrorKind::Conflict && error.operation == "lock" => {
                Err(Failure::failed(format!("the data folder {}", error.reason)).hint(
                    "stop that server, or choose another folder with --data or node.data_dir",
                ))
            }
            Err(error) => {
                // An error about the folder itself names no file within it.
                let what = format!("{} {}", error.operation, error.path);
                let (what, reason) = (what.trim_end(), &error.reason);
                Err(Failure::failed(format!("cannot use the data folder {path}: {what}: {reason}"))
                    .hint("choose another folder with --data or node.data_dir"))
            }
        }
    }

    /// As a disk.
    pub(super) fn disk(&self) -> SharedDisk {
        Arc::clone(&self.disk)
    }

    /// Where metadata state is saved.
    pub(super) fn state_store(&self) -> SharedStore {
        Arc::new(RedbStore::new(&self.root))
    }

    /// Where records are kept.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) async fn log_store(
        &self,
        section: &LogSection,
        spawn: &SharedSpawn,
    ) -> Result<Arc<FileLogStore>, Failure> {
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        let config = FileLogConfig {
            file_bytes_max: section.file_bytes_max,
            reserve_bytes: section.file_reserve_bytes,
            open_files_max: count(section.open_files_max),
            ..FileLogConfig::default()
        };
        let opened = FileLogStore::open(self.disk(), Arc::clone(spawn), config).await;
        opened
            .map(Arc::new)
            .map_err(|error| Failure::failed(format!("cannot open the log: {error}")))
    }

    /// Where index objects are kept.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) async fn objects(&self, spawn: &SharedSpawn) -> Result<SharedObjects, Failure> {
        let opened = DiskObjects::open(self.disk(), Arc::clone(spawn)).await;
        opened
            .map(|objects| Arc::new(objects) as SharedObjects)
            .map_err(|error| Failure::failed(format!("cannot open the index objects: {error}")))
    }

    /// What watches the room on the disk.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) async fn space(&self, free_bytes_low: u64) -> Result<Arc<SpaceGuard>, Failure> {
        let disk_bytes = statvfs(&self.root)
            .map_or(u64::MAX, |disk| disk.f_blocks.saturating_mul(disk.f_frsize));
        SpaceGuard::open(self.disk(), space_limits(free_bytes_low, disk_bytes))
            .await
            .map_err(|error| Failure::failed(format!("cannot watch the room on the disk: {error}")))
    }
}

/// The marks of a disk of `disk_bytes`: on a small one a sixteenth is low already.
fn space_limits(free_bytes_low: u64, disk_bytes: u64) -> SpaceLimits {
    let low_water_bytes = free_bytes_low.min(disk_bytes / 16);
    SpaceLimits {
        low_water_bytes,
        critical_bytes: low_water_bytes / 8,
        reserve_bytes: low_water_bytes / 4,
    }
}

/// Randomness of the system's, so that ids never repeat.
///
/// # Errors
/// The system gives none.
pub(super) fn random_seed() -> Result<u128, Failure> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(|error| Failure::failed(format!("cannot read /dev/urandom: {error}")))?;
    Ok(u128::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_the_stores_defaults_on_a_large_disk_and_lower_on_a_small_one() {
        assert_eq!(space_limits(256 << 20, 1 << 40), SpaceLimits::default());
        assert_eq!(space_limits(256 << 20, 1 << 30).low_water_bytes, 64 << 20);
        assert_eq!(space_limits(0, 1 << 30).reserve_bytes, 0);
    }
}
