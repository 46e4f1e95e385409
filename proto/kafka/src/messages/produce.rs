//! Produce (0): appends record batches.
//!
//! Kafka 4.1 serves versions 3 to 13. Versions 0 to 2 are here so that they can be refused in their
//! own shape: old clients look for them in ApiVersions before they enable compression.

use bytes::Bytes;
use uuid::Uuid;

use crate::error_code::ErrorCode;
use crate::kstring::KString;
use crate::messages::leader_hint::{LeaderIdAndEpoch, NodeEndpoint};

messages! {
    /// Record batches to append.
    message ProduceRequest, versions 0..=13, flexible 9 {
        /// The transaction that the batches belong to, if any.
        transactional_id: Option<KString> [3..] null [3..],
        /// How many replicas must have the batches before the answer: 0 (no answer), 1, or -1 (all).
        acks: i16 [0..],
        /// How long the broker may take.
        timeout_ms: i32 [0..],
        /// The batches by topic.
        topic_data: Vec<TopicProduceData> [0..],
    }

    /// The batches of a topic.
    struct TopicProduceData {
        /// The topic's name.
        name: KString [..=12],
        /// The topic's id.
        topic_id: Uuid [13..],
        /// The batches by partition.
        partition_data: Vec<PartitionProduceData> [0..],
    }

    /// The batches of a partition.
    struct PartitionProduceData {
        /// The partition.
        index: i32 [0..],
        /// The batches, as they are on the wire: a slice of the request's frame.
        records: Option<Bytes> [0..] null [0..],
    }

    /// What became of the batches.
    message ProduceResponse, versions 0..=13, flexible 9 {
        /// The outcome by topic.
        responses: Vec<TopicProduceResponse> [0..],
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
    } tagged {
        /// Where the leaders named in the outcomes listen.
        0 => node_endpoints: Vec<NodeEndpoint> [10..],
    }

    /// The outcome of a topic.
    struct TopicProduceResponse {
        /// The topic's name.
        name: KString [..=12],
        /// The topic's id.
        topic_id: Uuid [13..],
        /// The outcome by partition.
        partition_responses: Vec<PartitionProduceResponse> [0..],
    }

    /// The outcome of a partition.
    struct PartitionProduceResponse {
        /// The partition.
        index: i32 [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The offset of the first record.
        base_offset: i64 [0..],
        /// When the broker appended, for LogAppendTime topics; else -1.
        log_append_time_ms: i64 [2..] = -1,
        /// The partition's log start offset; -1 if unknown.
        log_start_offset: i64 [5..] = -1,
        /// Which records caused the whole batch to be refused.
        record_errors: Vec<BatchIndexAndErrorMessage> [8..],
        /// Why the batch was refused, for people.
        error_message: Option<KString> [8..] null [8..],
    } tagged {
        /// Who leads the partition, if not this broker.
        0 => current_leader: LeaderIdAndEpoch [10..],
    }

    /// A record that caused its batch to be refused.
    struct BatchIndexAndErrorMessage {
        /// The record's place in the batch.
        batch_index: i32 [8..],
        /// Why, for people.
        batch_index_error_message: Option<KString> [8..] null [8..],
    }
}
