//! CreatePartitions (37): gives topics more partitions.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Topics to give more partitions.
    message CreatePartitionsRequest, versions 0..=3, flexible 2 {
        /// The topics.
        topics: Vec<CreatePartitionsTopic> [0..],
        /// How long the broker may take.
        timeout_ms: i32 [0..],
        /// Whether to check only, and create nothing.
        validate_only: bool [0..],
    }

    /// A topic to give more partitions.
    struct CreatePartitionsTopic {
        /// Its name.
        name: KString [0..],
        /// How many partitions it shall have in all.
        count: i32 [0..],
        /// Which brokers hold the new partitions; null to let the broker choose.
        assignments: Option<Vec<CreatePartitionsAssignment>> [0..] null [0..],
    }

    /// Which brokers hold a new partition.
    struct CreatePartitionsAssignment {
        /// The brokers.
        broker_ids: Vec<i32> [0..],
    }

    /// What became of the topics.
    message CreatePartitionsResponse, versions 0..=3, flexible 2 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [0..],
        /// The outcome by topic.
        results: Vec<CreatePartitionsTopicResult> [0..],
    }

    /// What became of a topic.
    struct CreatePartitionsTopicResult {
        /// Its name.
        name: KString [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// Why, for people.
        error_message: Option<KString> [0..] null [0..],
    }
}
