//! Metadata (3): brokers, topics and who leads their partitions.

use uuid::Uuid;

use crate::error_code::ErrorCode;
use crate::kstring::KString;

/// The value of a set of authorized operations that was not asked for.
pub const OPERATIONS_UNKNOWN: i32 = i32::MIN;

messages! {
    /// Topics to describe.
    message MetadataRequest, versions 0..=13, flexible 9 {
        /// The topics; null for all. In version 0, which has no null, an empty list means all.
        topics: Option<Vec<MetadataRequestTopic>> [0..] null [1..],
        /// Whether topics that do not exist may be created.
        allow_auto_topic_creation: bool [4..] = true,
        /// Whether to tell what the client may do with the cluster.
        include_cluster_authorized_operations: bool [8..=10],
        /// Whether to tell what the client may do with the topics.
        include_topic_authorized_operations: bool [8..],
    }

    /// A topic to describe, by name or id.
    struct MetadataRequestTopic {
        /// The topic's id; zero to go by the name.
        topic_id: Uuid [10..],
        /// The topic's name; null to go by the id.
        name: Option<KString> [0..] null [10..],
    }

    /// Brokers and topics.
    message MetadataResponse, versions 0..=13, flexible 9 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [3..],
        /// The brokers.
        brokers: Vec<MetadataResponseBroker> [0..],
        /// The cluster's id.
        cluster_id: Option<KString> [2..] null [2..],
        /// The broker that takes administrative requests; -1 if unknown.
        controller_id: i32 [1..] = -1,
        /// The topics.
        topics: Vec<MetadataResponseTopic> [0..],
        /// What the client may do with the cluster, as a set of bits.
        cluster_authorized_operations: i32 [8..=10] = OPERATIONS_UNKNOWN,
        /// What went wrong with the whole request, if anything.
        error_code: ErrorCode [13..],
    }

    /// A broker.
    struct MetadataResponseBroker {
        /// The broker.
        node_id: i32 [0..],
        /// Its host name or address.
        host: KString [0..],
        /// Its port.
        port: i32 [0..],
        /// Its rack, if it has one.
        rack: Option<KString> [1..] null [1..],
    }

    /// A topic.
    struct MetadataResponseTopic {
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The topic's name; null if it was asked by an unknown id.
        name: Option<KString> [0..] null [12..],
        /// The topic's id.
        topic_id: Uuid [10..],
        /// Whether the topic serves the cluster itself.
        is_internal: bool [1..],
        /// Its partitions.
        partitions: Vec<MetadataResponsePartition> [0..],
        /// What the client may do with the topic, as a set of bits.
        topic_authorized_operations: i32 [8..] = OPERATIONS_UNKNOWN,
    }

    /// A partition.
    struct MetadataResponsePartition {
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The partition.
        partition_index: i32 [0..],
        /// The broker that leads it; -1 if there is none.
        leader_id: i32 [0..],
        /// Its leader epoch.
        leader_epoch: i32 [7..] = -1,
        /// The brokers that hold it.
        replica_nodes: Vec<i32> [0..],
        /// Those of them that are in sync.
        isr_nodes: Vec<i32> [0..],
        /// Those of them that are offline.
        offline_replicas: Vec<i32> [5..],
    }
}
