//! Commands that change what a partition's log holds without appending: log starts and folds.

use tidemill_base::digest::ExtentDigest;
use tidemill_base::{FileId, Location, ObjectId, Offset, PartitionId};

use crate::codec::encoded;

encoded! {
    /// Where one partition's log shall start.
    pub struct LogStartAdvance {
        /// The partition.
        pub partition: PartitionId,
        /// The new log start; `None` means the high watermark.
        pub to: Option<Offset>,
    }

    /// Advances log starts (DeleteRecords and retention), each on its own.
    pub struct AdvanceLogStart {
        /// The advances.
        pub advances: Vec<LogStartAdvance>,
    }

    /// A run of extents of one file, in one partition, that follow one another.
    pub struct FoldRun {
        /// The partition.
        pub partition: PartitionId,
        /// The first extent's base offset.
        pub first_offset: Offset,
        /// The offset after the last extent.
        pub end_offset: Offset,
        /// How many extents.
        pub entries: u32,
        /// The digest of the extents, in order.
        pub digest: ExtentDigest,
    }

    /// Replaces runs of extents of one file by one entry each, if they are still what they were
    /// when the index object was written. Each run is judged on its own.
    pub struct FoldExtents {
        /// The file that holds the extents.
        pub file: FileId,
        /// The index object, named in its writer's object lane.
        pub index: ObjectId,
        /// Where the index object lies.
        pub location: Location,
        /// The runs.
        pub runs: Vec<FoldRun>,
    }
}
