//! The Kafka code for each refusal of the metadata, and failures as the wire tells them.

use tidemill_kafka::ErrorCode;
use tidemill_metadata_raft::{MetadataHandle, ProposeError};
use tidemill_metadata_state::{Command, Outcome, Refusal};

/// Why something asked for was not done: the code, and words for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The code.
    pub code: ErrorCode,
    /// What happened, to which thing, and what to do.
    pub message: String,
}

impl Failure {
    /// A failure with this code and message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A failure with the code's own words.
    #[must_use]
    pub fn of(code: ErrorCode) -> Self {
        Self::new(code, code.description())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal_code(&refusal), refusal.to_string())
    }
}

impl From<ProposeError> for Failure {
    fn from(error: ProposeError) -> Self {
        Self::new(propose_code(error), error.to_string())
    }
}

/// Proposes a command; a refusal as a whole is a failure.
///
/// # Errors
/// The refusal, or why there is no outcome.
pub async fn propose(
    metadata: &MetadataHandle,
    command: impl Into<Command>,
) -> Result<Outcome, Failure> {
    match metadata.propose(command).await? {
        Outcome::Refused(refusal) => Err(refusal.into()),
        outcome => Ok(outcome),
    }
}

/// The failure for an outcome that does not belong to its command: a mistake of ours.
#[must_use]
pub fn unexpected(outcome: &Outcome) -> Failure {
    tracing::error!(?outcome, "the metadata answered with something else than was asked");
    Failure::of(ErrorCode::UNKNOWN_SERVER_ERROR)
}

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
