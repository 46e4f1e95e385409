//! Fetch (1): reads record batches.
//!
//! The response's records are [`RecordParts`]: stored bytes are shared with the frame, not copied.

use uuid::Uuid;

use crate::error_code::ErrorCode;
use crate::kstring::KString;
use crate::messages::leader_hint::{LeaderIdAndEpoch, NodeEndpoint};
use crate::record_parts::RecordParts;

messages! {
    /// What to read, and how long to wait for it.
    message FetchRequest, versions 4..=18, flexible 12 {
        /// The follower that asks; -1 for a consumer.
        replica_id: i32 [..=14] = -1,
        /// How long to wait until `min_bytes` are there.
        max_wait_ms: i32 [0..],
        /// How many bytes to wait for.
        min_bytes: i32 [0..],
        /// How many bytes to answer at most, one batch excepted.
        max_bytes: i32 [3..] = i32::MAX,
        /// 0: read_uncommitted, 1: read_committed.
        isolation_level: i8 [4..],
        /// The fetch session; 0 to have none or begin one.
        session_id: i32 [7..],
        /// The epoch of the session: -1 none, 0 begins one, else the next request of it.
        session_epoch: i32 [7..] = -1,
        /// What to read, or what changes in the session.
        topics: Vec<FetchTopic> [0..],
        /// What to read no more in the session.
        forgotten_topics_data: Vec<ForgottenTopic> [7..],
        /// The consumer's rack, or empty.
        rack_id: KString [11..],
    } tagged {
        /// The cluster that the client believes to talk to.
        0 => cluster_id: Option<KString> [12..] null [12..],
        /// The follower that asks.
        1 => replica_state: ReplicaState [15..],
    }

    /// The follower that asks.
    struct ReplicaState {
        /// The broker; -1 for a consumer.
        replica_id: i32 [15..] = -1,
        /// Its epoch.
        replica_epoch: i64 [15..] = -1,
    }

    /// The partitions of a topic to read.
    struct FetchTopic {
        /// The topic's name.
        topic: KString [..=12],
        /// The topic's id.
        topic_id: Uuid [13..],
        /// Its partitions, in the order in which they are to be answered.
        partitions: Vec<FetchPartition> [0..],
    }

    /// A partition to read.
    struct FetchPartition {
        /// The partition.
        partition: i32 [0..],
        /// The leader epoch that the client knows; -1 not to be checked.
        current_leader_epoch: i32 [9..] = -1,
        /// The offset to read from.
        fetch_offset: i64 [0..],
        /// The epoch of the last record read; -1 not to be checked.
        last_fetched_epoch: i32 [12..] = -1,
        /// A follower's log start; -1 from a consumer.
        log_start_offset: i64 [5..] = -1,
        /// How many bytes to answer at most for this partition, one batch excepted.
        partition_max_bytes: i32 [0..],
    } tagged {
        /// A follower's directory.
        0 => replica_directory_id: Uuid [17..],
        /// The high watermark that a follower knows.
        1 => high_watermark: i64 [18..] = i64::MAX,
    }

    /// Partitions to read no more.
    struct ForgottenTopic {
        /// The topic's name.
        topic: KString [7..=12],
        /// The topic's id.
        topic_id: Uuid [13..],
        /// Its partitions.
        partitions: Vec<i32> [7..],
    }

    /// What was read.
    message FetchResponse, versions 4..=18, flexible 12 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
        /// What went wrong with the whole request, if anything.
        error_code: ErrorCode [7..],
        /// The fetch session; 0 if there is none.
        session_id: i32 [7..],
        /// What was read, by topic.
        responses: Vec<FetchableTopicResponse> [0..],
    } tagged {
        /// Where the leaders named in the partitions listen.
        0 => node_endpoints: Vec<NodeEndpoint> [16..],
    }

    /// What was read of a topic.
    struct FetchableTopicResponse {
        /// The topic's name.
        topic: KString [..=12],
        /// The topic's id.
        topic_id: Uuid [13..],
        /// What was read, by partition.
        partitions: Vec<PartitionData> [0..],
    }

    /// What was read of a partition.
    struct PartitionData {
        /// The partition.
        partition_index: i32 [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The high watermark.
        high_watermark: i64 [0..],
        /// The last stable offset; -1 if unknown.
        last_stable_offset: i64 [4..] = -1,
        /// The log start offset; -1 if unknown.
        log_start_offset: i64 [5..] = -1,
        /// The transactions whose records in this answer are to be left out, by first offset; null
        /// under read_uncommitted.
        aborted_transactions: Option<Vec<AbortedTransaction>> [4..] null [4..],
        /// Where to read from next time; -1 for here.
        preferred_read_replica: i32 [11..] = -1,
        /// Whole batches.
        records: Option<RecordParts> [0..] null [0..] = Some(RecordParts::new()),
    } tagged {
        /// Where the client's history leaves the broker's.
        0 => diverging_epoch: EpochEndOffset [12..],
        /// Who leads the partition, if not this broker.
        1 => current_leader: LeaderIdAndEpoch [12..],
        /// The snapshot to read instead (metadata log only).
        2 => snapshot_id: SnapshotId [12..],
    }

    /// The end of a leader epoch.
    struct EpochEndOffset {
        /// The epoch.
        epoch: i32 [12..] = -1,
        /// Its end offset.
        end_offset: i64 [12..] = -1,
    }

    /// A snapshot of the metadata log.
    struct SnapshotId {
        /// Its end offset.
        end_offset: i64 [0..] = -1,
        /// Its epoch.
        epoch: i32 [0..] = -1,
    }

    /// A transaction that was aborted.
    struct AbortedTransaction {
        /// Its producer.
        producer_id: i64 [4..],
        /// Its first offset in the partition.
        first_offset: i64 [4..],
    }
}
