//! OffsetFetch (9): the positions that groups have committed.
//!
//! Up to version 7 one group is asked (`group_id`, `topics`), from 8 on several (`groups`).

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Whose positions to tell.
    message OffsetFetchRequest, versions 1..=9, flexible 6 {
        /// The group.
        group_id: KString [..=7],
        /// The partitions; null for all.
        topics: Option<Vec<OffsetFetchRequestTopic>> [..=7] null [2..=7],
        /// The groups.
        groups: Vec<OffsetFetchRequestGroup> [8..],
        /// Whether to refuse positions that an open transaction may still change.
        require_stable: bool [7..],
    }

    /// Partitions of a topic.
    struct OffsetFetchRequestTopic {
        /// The topic's name.
        name: KString [..=7],
        /// The partitions.
        partition_indexes: Vec<i32> [..=7],
    }

    /// A group.
    struct OffsetFetchRequestGroup {
        /// The group.
        group_id: KString [8..],
        /// The member that asks, under the consumer protocol.
        member_id: Option<KString> [9..] null [9..],
        /// Its epoch; -1 if it is none.
        member_epoch: i32 [9..] = -1,
        /// The partitions; null for all.
        topics: Option<Vec<OffsetFetchRequestTopics>> [8..] null [8..],
    }

    /// Partitions of a topic.
    struct OffsetFetchRequestTopics {
        /// The topic's name.
        name: KString [8..],
        /// The partitions.
        partition_indexes: Vec<i32> [8..],
    }

    /// The positions.
    message OffsetFetchResponse, versions 1..=9, flexible 6 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [3..],
        /// The positions by topic.
        topics: Vec<OffsetFetchResponseTopic> [..=7],
        /// What went wrong with the whole request, if anything.
        error_code: ErrorCode [2..=7],
        /// The positions by group.
        groups: Vec<OffsetFetchResponseGroup> [8..],
    }

    /// The positions in a topic.
    struct OffsetFetchResponseTopic {
        /// The topic's name.
        name: KString [..=7],
        /// The positions by partition.
        partitions: Vec<OffsetFetchResponsePartition> [..=7],
    }

    /// The position in a partition.
    struct OffsetFetchResponsePartition {
        /// The partition.
        partition_index: i32 [..=7],
        /// The offset of the next record to read; -1 if none is committed.
        committed_offset: i64 [..=7],
        /// The leader epoch of the last record read; -1 if unknown.
        committed_leader_epoch: i32 [5..=7] = -1,
        /// A text of the client.
        metadata: Option<KString> [..=7] null [..=7],
        /// What went wrong, if anything.
        error_code: ErrorCode [..=7],
    }

    /// The positions of a group.
    struct OffsetFetchResponseGroup {
        /// The group.
        group_id: KString [8..],
        /// The positions by topic.
        topics: Vec<OffsetFetchResponseTopics> [8..],
        /// What went wrong with the group, if anything.
        error_code: ErrorCode [8..],
    }

    /// The positions of a group in a topic.
    struct OffsetFetchResponseTopics {
        /// The topic's name.
        name: KString [8..],
        /// The positions by partition.
        partitions: Vec<OffsetFetchResponsePartitions> [8..],
    }

    /// The position of a group in a partition.
    struct OffsetFetchResponsePartitions {
        /// The partition.
        partition_index: i32 [8..],
        /// The offset of the next record to read; -1 if none is committed.
        committed_offset: i64 [8..],
        /// The leader epoch of the last record read; -1 if unknown.
        committed_leader_epoch: i32 [8..] = -1,
        /// A text of the client.
        metadata: Option<KString> [8..] null [8..],
        /// What went wrong, if anything.
        error_code: ErrorCode [8..],
    }
}
