//! Log stores, the log writer and reader, the hot cache and the garbage collector.

pub mod file_log_store;
pub mod file_name;
pub mod garbage;
pub mod hot_cache;
pub mod log_reader;
pub mod log_store;
pub mod object_log_store;
pub mod objects;
mod open_files;
pub mod space;
#[cfg(test)]
mod testing;
#[cfg(any(test, feature = "twin"))]
pub mod twin;
pub mod writer;

pub use file_log_store::{FileLogConfig, FileLogStore, SYNC_BUCKETS_US, SyncCounters};
pub use garbage::{GarbageCollector, GarbageCounters};
pub use hot_cache::{HotCache, HotPart};
pub use log_reader::{BatchCheck, LogReader, LogReaderConfig, ReadCounters, ReadRequest};
pub use log_store::{LogStore, Shape, SharedLogStore, StoreError, StoredFile};
pub use object_log_store::ObjectLogStore;
pub use objects::{DiskObjects, Objects, SharedObjects, StoreObjects};
pub use space::{SpaceGuard, SpaceLimits, SpaceState};
pub use writer::{
    AdmittedBatch, Commits, Kept, LogEnd, LogEnds, LogWriter, ObjectCommit, WriterCounters,
    WriterParts,
};
