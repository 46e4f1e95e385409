//! ListOffsets (2): finds offsets by timestamp.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

/// The timestamp that asks for the end of the log.
pub const TIMESTAMP_LATEST: i64 = -1;
/// The timestamp that asks for the log start.
pub const TIMESTAMP_EARLIEST: i64 = -2;
/// The timestamp that asks for the first record with the largest timestamp (from version 7 on).
pub const TIMESTAMP_MAX: i64 = -3;
/// The timestamp that asks for the first offset on local storage (from version 8 on).
pub const TIMESTAMP_EARLIEST_LOCAL: i64 = -4;
/// The timestamp that asks for the last offset on tiered storage (from version 9 on).
pub const TIMESTAMP_LATEST_TIERED: i64 = -5;

messages! {
    /// Timestamps to find.
    message ListOffsetsRequest, versions 1..=10, flexible 6 {
        /// The follower that asks; -1 for a consumer.
        replica_id: i32 [0..] = -1,
        /// 0: read_uncommitted, 1: read_committed.
        isolation_level: i8 [2..],
        /// What to find, by topic.
        topics: Vec<ListOffsetsTopic> [0..],
        /// How long the broker may take to look into remote storage.
        timeout_ms: i32 [10..],
    }

    /// What to find in a topic.
    struct ListOffsetsTopic {
        /// The topic's name.
        name: KString [0..],
        /// What to find, by partition.
        partitions: Vec<ListOffsetsPartition> [0..],
    }

    /// What to find in a partition.
    struct ListOffsetsPartition {
        /// The partition.
        partition_index: i32 [0..],
        /// The leader epoch that the client knows; -1 not to be checked.
        current_leader_epoch: i32 [4..] = -1,
        /// Milliseconds since 1970, or one of the special values below 0.
        timestamp: i64 [0..],
    }

    /// What was found.
    message ListOffsetsResponse, versions 1..=10, flexible 6 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [2..],
        /// What was found, by topic.
        topics: Vec<ListOffsetsTopicResponse> [0..],
    }

    /// What was found in a topic.
    struct ListOffsetsTopicResponse {
        /// The topic's name.
        name: KString [0..],
        /// What was found, by partition.
        partitions: Vec<ListOffsetsPartitionResponse> [0..],
    }

    /// What was found in a partition.
    struct ListOffsetsPartitionResponse {
        /// The partition.
        partition_index: i32 [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The timestamp of the record found; -1 if there is none or it was not asked.
        timestamp: i64 [1..] = -1,
        /// The offset found; -1 if there is none.
        offset: i64 [1..] = -1,
        /// The leader epoch of the record found; -1 if unknown.
        leader_epoch: i32 [4..] = -1,
    }
}
