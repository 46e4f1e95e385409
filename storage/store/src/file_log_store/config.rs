//! The settings of an append-file store.

/// The smallest rolling file that a small disk is given.
const FILE_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// No file takes more than this part of the space that is free.
const FREE_PARTS: u64 = 16;

/// How an append-file store rolls, queues and keeps files open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileLogConfig {
    /// A file that has reached this length is sealed. An object is never split, so that a file may be
    /// longer by one object's length. Default 512 MiB; less where a sixteenth of the free space is
    /// less, but at least 16 MiB.
    pub file_bytes_max: u64,
    /// Space reserved when a file is created, and again each time that it is used up: writing into
    /// reserved space costs less, and a disk that fills up is noticed earlier. Default 64 MiB, which
    /// is also what a file that was not closed properly may hold in vain until the next start.
    pub reserve_bytes: u64,
    /// Puts that may wait on one lane; more are refused as `Throttled`. Default 256.
    pub waiting_puts_max: usize,
    /// Bytes of waiting puts that share one sync; one larger put is taken alone. Default 16 MiB.
    pub sync_bytes_max: u64,
    /// Files kept open for reading. Default 256.
    pub open_files_max: usize,
    /// Abandoned files whose write or sync has not returned. Default 8.
    pub stuck_files_max: usize,
}

impl Default for FileLogConfig {
    fn default() -> Self {
        Self {
            file_bytes_max: 512 * 1024 * 1024,
            reserve_bytes: 64 * 1024 * 1024,
            waiting_puts_max: 256,
            sync_bytes_max: 16 * 1024 * 1024,
            open_files_max: 256,
            stuck_files_max: 8,
        }
    }
}

impl FileLogConfig {
    /// The same settings, with files small enough for a disk that has `free_bytes` left.
    #[must_use]
    pub(super) fn fitted_to(self, free_bytes: u64) -> Self {
        let fitting = (free_bytes / FREE_PARTS).max(FILE_BYTES_MIN);
        let file_bytes_max = self.file_bytes_max.min(fitting);
        let reserve_bytes = self.reserve_bytes.min(file_bytes_max);
        Self { file_bytes_max, reserve_bytes, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_disks_get_small_files() {
        let fitted = |free_mib: u64| FileLogConfig::default().fitted_to(free_mib << 20);
        assert_eq!(fitted(100_000), FileLogConfig::default());
        assert_eq!(fitted(1600).file_bytes_max, 100 << 20);
        assert_eq!(fitted(10).file_bytes_max, 16 << 20);
        assert_eq!(fitted(10).reserve_bytes, 16 << 20);
    }
}
