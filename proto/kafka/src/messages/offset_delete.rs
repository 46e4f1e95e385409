//! OffsetDelete (47): forgets positions of a group.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Positions to forget.
    message OffsetDeleteRequest, versions 0..=0, flexible never {
        /// The group.
        group_id: KString [0..],
        /// The positions by topic.
        topics: Vec<OffsetDeleteRequestTopic> [0..],
    }

    /// The positions in a topic.
    struct OffsetDeleteRequestTopic {
        /// The topic's name.
        name: KString [0..],
        /// The partitions.
        partitions: Vec<OffsetDeleteRequestPartition> [0..],
    }

    /// The position in a partition.
    struct OffsetDeleteRequestPartition {
        /// The partition.
        partition_index: i32 [0..],
    }

    /// What became of the positions.
    message OffsetDeleteResponse, versions 0..=0, flexible never {
        /// What went wrong with the whole request, if anything.
        error_code: ErrorCode [0..],
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [0..],
        /// The outcome by topic.
        topics: Vec<OffsetDeleteResponseTopic> [0..],
    }

    /// What became of the positions in a topic.
    struct OffsetDeleteResponseTopic {
        /// The topic's name.
        name: KString [0..],
        /// The outcome by partition.
        partitions: Vec<OffsetDeleteResponsePartition> [0..],
    }

    /// What became of the position in a partition.
    struct OffsetDeleteResponsePartition {
        /// The partition.
        partition_index: i32 [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
    }
}
