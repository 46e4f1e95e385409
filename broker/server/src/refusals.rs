//! The Kafka code for each refusal of the metadata.

use tidemill_kafka::ErrorCode;
use tidemill_metadata_raft::ProposeError;
use tidemill_metadata_state::Refusal;

/// The code that tells a client of a refusal.
#[must_use]
pub fn refusal_code(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::BrokerFenced | Refusal::OtherIncarnation | Refusal::Condemned => {
            ErrorCode::NOT_LEADER_OR_FOLLOWER
        }
        Refusal::OtherLocation | Refusal::FileSealed | Refusal::Malformed(_) => {
            ErrorCode::UNKNOWN_SERVER_ERROR
        }
        Refusal::TooManyInFlight => ErrorCode::REQUEST_TIMED_OUT,
        Refusal::Limit { .. } => ErrorCode::POLICY_VIOLATION,
        Refusal::UnknownTopic | Refusal::UnknownPartition => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        Refusal::TopicExists => ErrorCode::TOPIC_ALREADY_EXISTS,
        Refusal::TopicName(_) => ErrorCode::INVALID_TOPIC_EXCEPTION,
        Refusal::PartitionCount(_) => ErrorCode::INVALID_PARTITIONS,
        Refusal::ReplicationFactor => ErrorCode::INVALID_REPLICATION_FACTOR,
        Refusal::Config(_) => ErrorCode::INVALID_CONFIG,
        Refusal::FeatureLevel => ErrorCode::INVALID_UPDATE_VERSION,
        Refusal::GroupHeld { .. } | Refusal::CoordinatorFenced => ErrorCode::NOT_COORDINATOR,
        Refusal::UnknownGroup => ErrorCode::GROUP_ID_NOT_FOUND,
        Refusal::GroupNotEmpty => ErrorCode::NON_EMPTY_GROUP,
        Refusal::OtherGeneration(_) => ErrorCode::ILLEGAL_GENERATION,
        Refusal::UnknownMember => ErrorCode::UNKNOWN_MEMBER_ID,
        Refusal::OffsetMetadata { .. } => ErrorCode::OFFSET_METADATA_TOO_LARGE,
    }
}

/// The code for a proposal without an outcome.
#[must_use]
pub fn propose_code(error: ProposeError) -> ErrorCode {
    match error {
        ProposeError::Throttled | ProposeError::Ambiguous => ErrorCode::REQUEST_TIMED_OUT,
        ProposeError::TooLarge => ErrorCode::POLICY_VIOLATION,
        ProposeError::NotLeader => ErrorCode::NOT_CONTROLLER,
        ProposeError::Closed => ErrorCode::COORDINATOR_NOT_AVAILABLE,
    }
}
