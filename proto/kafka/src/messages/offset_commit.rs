//! OffsetCommit (8): a group's positions.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Positions to keep.
    message OffsetCommitRequest, versions 2..=9, flexible 8 {
        /// The group.
        group_id: KString [0..],
        /// The generation of a classic member, or the epoch of a member of the consumer protocol;
        /// -1 from a client that is no member.
        generation_id_or_member_epoch: i32 [1..] = -1,
        /// The member; empty from a client that is no member.
        member_id: KString [1..],
        /// The id of a static member.
        group_instance_id: Option<KString> [7..] null [7..],
        /// How long to keep the positions; -1 for the broker's setting.
        retention_time_ms: i64 [2..=4] = -1,
        /// The positions by topic.
        topics: Vec<OffsetCommitRequestTopic> [0..],
    }

    /// The positions in a topic.
    struct OffsetCommitRequestTopic {
        /// The topic's name.
        name: KString [0..],
        /// The positions by partition.
        partitions: Vec<OffsetCommitRequestPartition> [0..],
    }

    /// The position in a partition.
    struct OffsetCommitRequestPartition {
        /// The partition.
        partition_index: i32 [0..],
        /// The offset of the next record to read.
        committed_offset: i64 [0..],
        /// The leader epoch of the last record read; -1 if unknown.
        committed_leader_epoch: i32 [6..] = -1,
        /// A text of the client.
        committed_metadata: Option<KString> [0..] null [0..],
    }

    /// What became of the positions.
    message OffsetCommitResponse, versions 2..=9, flexible 8 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [3..],
        /// The outcome by topic.
        topics: Vec<OffsetCommitResponseTopic> [0..],
    }

    /// What became of the positions in a topic.
    struct OffsetCommitResponseTopic {
        /// The topic's name.
        name: KString [0..],
        /// The outcome by partition.
        partitions: Vec<OffsetCommitResponsePartition> [0..],
    }

    /// What became of the position in a partition.
    struct OffsetCommitResponsePartition {
        /// The partition.
        partition_index: i32 [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
    }
}
