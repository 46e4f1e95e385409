//! OffsetForLeaderEpoch (23): where a leader epoch ends.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Leader epochs to look up.
    message OffsetForLeaderEpochRequest, versions 2..=4, flexible 4 {
        /// The follower that asks; -1 for a consumer, -2 if not told.
        replica_id: i32 [3..] = -2,
        /// What to look up, by topic.
        topics: Vec<OffsetForLeaderTopic> [0..],
    }

    /// What to look up in a topic.
    struct OffsetForLeaderTopic {
        /// The topic's name.
        topic: KString [0..],
        /// What to look up, by partition.
        partitions: Vec<OffsetForLeaderPartition> [0..],
    }

    /// What to look up in a partition.
    struct OffsetForLeaderPartition {
        /// The partition.
        partition: i32 [0..],
        /// The leader epoch that the client knows; -1 not to be checked.
        current_leader_epoch: i32 [2..] = -1,
        /// The epoch to look up.
        leader_epoch: i32 [0..],
    }

    /// Where the epochs end.
    message OffsetForLeaderEpochResponse, versions 2..=4, flexible 4 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [2..],
        /// The ends, by topic.
        topics: Vec<OffsetForLeaderTopicResult> [0..],
    }

    /// The ends in a topic.
    struct OffsetForLeaderTopicResult {
        /// The topic's name.
        topic: KString [0..],
        /// The ends, by partition.
        partitions: Vec<EpochEndOffset> [0..],
    }

    /// The end of an epoch in a partition.
    struct EpochEndOffset {
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The partition.
        partition: i32 [0..],
        /// The epoch answered; -1 if unknown.
        leader_epoch: i32 [1..] = -1,
        /// The epoch's end offset; -1 if unknown.
        end_offset: i64 [0..] = -1,
    }
}
