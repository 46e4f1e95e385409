//! DescribeTopicPartitions (75): topics in pages.

use uuid::Uuid;

use crate::error_code::ErrorCode;
use crate::kstring::KString;
use crate::messages::metadata::OPERATIONS_UNKNOWN;

messages! {
    /// Topics to describe.
    message DescribeTopicPartitionsRequest, versions 0..=0, flexible 0 {
        /// The topics; empty for all.
        topics: Vec<TopicRequest> [0..],
        /// How many partitions to answer at most.
        response_partition_limit: i32 [0..] = 2000,
        /// Where to go on, as the last answer said.
        cursor: Option<Cursor> [0..] null [0..],
    }

    /// A topic to describe.
    struct TopicRequest {
        /// Its name.
        name: KString [0..],
    }

    /// A place between pages.
    struct Cursor {
        /// The first topic of the next page.
        topic_name: KString [0..],
        /// Its first partition there.
        partition_index: i32 [0..],
    }

    /// A page of topics.
    message DescribeTopicPartitionsResponse, versions 0..=0, flexible 0 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [0..],
        /// The topics.
        topics: Vec<DescribeTopicPartitionsResponseTopic> [0..],
        /// Where the next page begins; null if there is none.
        next_cursor: Option<Cursor> [0..] null [0..],
    }

    /// A topic.
    struct DescribeTopicPartitionsResponseTopic {
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// Its name.
        name: Option<KString> [0..] null [0..],
        /// Its id.
        topic_id: Uuid [0..],
        /// Whether it serves the cluster itself.
        is_internal: bool [0..],
        /// Its partitions.
        partitions: Vec<DescribeTopicPartitionsResponsePartition> [0..],
        /// What the client may do with it, as a set of bits.
        topic_authorized_operations: i32 [0..] = OPERATIONS_UNKNOWN,
    }

    /// A partition.
    struct DescribeTopicPartitionsResponsePartition {
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The partition.
        partition_index: i32 [0..],
        /// The broker that leads it; -1 if there is none.
        leader_id: i32 [0..],
        /// Its leader epoch.
        leader_epoch: i32 [0..] = -1,
        /// The brokers that hold it.
        replica_nodes: Vec<i32> [0..],
        /// Those of them that are in sync.
        isr_nodes: Vec<i32> [0..],
        /// Those that may lead it though they are not in sync (KIP-966).
        eligible_leader_replicas: Option<Vec<i32>> [0..] null [0..],
        /// The last such that were known.
        last_known_elr: Option<Vec<i32>> [0..] null [0..],
        /// Those that are offline.
        offline_replicas: Vec<i32> [0..],
    }
}
