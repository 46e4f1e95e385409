//! DeleteRecords (21): raises the log start of partitions.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

/// The offset that stands for the high watermark.
pub const OFFSET_HIGH_WATERMARK: i64 = -1;

messages! {
    /// Up to where to delete.
    message DeleteRecordsRequest, versions 0..=2, flexible 2 {
        /// What to delete, by topic.
        topics: Vec<DeleteRecordsTopic> [0..],
        /// How long the broker may take.
        timeout_ms: i32 [0..],
    }

    /// What to delete of a topic.
    struct DeleteRecordsTopic {
        /// The topic's name.
        name: KString [0..],
        /// What to delete, by partition.
        partitions: Vec<DeleteRecordsPartition> [0..],
    }

    /// What to delete of a partition.
    struct DeleteRecordsPartition {
        /// The partition.
        partition_index: i32 [0..],
        /// The first offset that stays; -1 for the high watermark.
        offset: i64 [0..],
    }

    /// What was deleted.
    message DeleteRecordsResponse, versions 0..=2, flexible 2 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [0..],
        /// The outcome by topic.
        topics: Vec<DeleteRecordsTopicResult> [0..],
    }

    /// What was deleted of a topic.
    struct DeleteRecordsTopicResult {
        /// The topic's name.
        name: KString [0..],
        /// The outcome by partition.
        partitions: Vec<DeleteRecordsPartitionResult> [0..],
    }

    /// What was deleted of a partition.
    struct DeleteRecordsPartitionResult {
        /// The partition.
        partition_index: i32 [0..],
        /// The new log start offset; -1 after an error.
        low_watermark: i64 [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
    }
}
