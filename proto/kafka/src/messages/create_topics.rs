//! CreateTopics (19).

use uuid::Uuid;

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Topics to create.
    message CreateTopicsRequest, versions 2..=7, flexible 5 {
        /// The topics.
        topics: Vec<CreatableTopic> [0..],
        /// How long the broker may take.
        timeout_ms: i32 [0..] = 60_000,
        /// Whether to check only, and create nothing.
        validate_only: bool [1..],
    }

    /// A topic to create.
    struct CreatableTopic {
        /// Its name.
        name: KString [0..],
        /// How many partitions; -1 for the broker's default, or if `assignments` says it.
        num_partitions: i32 [0..],
        /// How many replicas; -1 for the broker's default, or if `assignments` says it.
        replication_factor: i16 [0..],
        /// Which brokers hold which partition; empty to let the broker choose.
        assignments: Vec<CreatableReplicaAssignment> [0..],
        /// The topic's configs.
        configs: Vec<CreatableTopicConfig> [0..],
    }

    /// Which brokers hold a partition.
    struct CreatableReplicaAssignment {
        /// The partition.
        partition_index: i32 [0..],
        /// The brokers.
        broker_ids: Vec<i32> [0..],
    }

    /// A config of a topic to create.
    struct CreatableTopicConfig {
        /// Its name.
        name: KString [0..],
        /// Its value.
        value: Option<KString> [0..] null [0..],
    }

    /// What became of the topics.
    message CreateTopicsResponse, versions 2..=7, flexible 5 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [2..],
        /// The outcome by topic.
        topics: Vec<CreatableTopicResult> [0..],
    }

    /// What became of a topic.
    struct CreatableTopicResult {
        /// Its name.
        name: KString [0..],
        /// Its id.
        topic_id: Uuid [7..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// Why, for people.
        error_message: Option<KString> [1..] null [0..],
        /// How many partitions it has; -1 if unknown.
        num_partitions: i32 [5..] = -1,
        /// How many replicas it has; -1 if unknown.
        replication_factor: i16 [5..] = -1,
        /// Its configs; null if the client may not see them.
        configs: Option<Vec<CreatableTopicConfigs>> [5..] null [5..],
    } tagged {
        /// Why the configs are not told, if they are not.
        0 => topic_config_error_code: ErrorCode [5..],
    }

    /// A config of a created topic.
    struct CreatableTopicConfigs {
        /// Its name.
        name: KString [5..],
        /// Its value.
        value: Option<KString> [5..] null [5..],
        /// Whether it cannot be changed.
        read_only: bool [5..],
        /// Where its value comes from, as in DescribeConfigs.
        config_source: i8 [5..] = -1,
        /// Whether its value is a secret.
        is_sensitive: bool [5..],
    }
}
