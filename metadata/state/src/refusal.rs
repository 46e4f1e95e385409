//! Refusals: why a command, or a part of one, was not carried out.

use tidemill_base::{BrokerEpoch, BrokerId, ErrorKind, GroupGeneration};

use crate::configs::ConfigError;

/// Why the state machine refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The broker epoch named is not the broker's current one, or is fenced.
    #[error("the broker's registration has ended")]
    BrokerFenced,
    /// The object belongs to another life of the cluster.
    #[error("the object belongs to another incarnation")]
    OtherIncarnation,
    /// An object named is at or below the floor of its lane.
    #[error("the object is condemned: its sequence is at or below its lane's floor")]
    Condemned,
    /// The sequence was committed before with another location.
    #[error("the sequence was proposed before with another location")]
    OtherLocation,
    /// The lane has as many objects whose outcomes it has not received as it may.
    #[error("too many commits of the lane in flight")]
    TooManyInFlight,
    /// The file named is sealed, or already garbage.
    #[error("the file is sealed")]
    FileSealed,
    /// The command contradicts itself.
    #[error("malformed command: {0}")]
    Malformed(&'static str),
    /// A table of the state is full.
    #[error("the limit of {max} {what} is reached")]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        max: u64,
    },
    /// The topic does not exist (any more).
    #[error("the topic does not exist")]
    UnknownTopic,
    /// The partition does not exist.
    #[error("the partition does not exist")]
    UnknownPartition,
    /// A topic of that name exists, or the id was used before.
    #[error("the topic exists already")]
    TopicExists,
    /// The name is not one a topic may have.
    #[error("invalid topic name: {0}")]
    TopicName(&'static str),
    /// The number of partitions is not possible.
    #[error("invalid number of partitions: {0}")]
    PartitionCount(&'static str),
    /// The replication factor is not possible.
    #[error("the replication factor must be -1 or from 1 to 100")]
    ReplicationFactor,
    /// A config is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The feature level is below the current one or unknown to a registered broker.
    #[error("the feature level is not possible")]
    FeatureLevel,
    /// Another broker that lives coordinates the group.
    #[error("broker {broker} coordinates the group")]
    GroupHeld {
        /// The coordinator.
        broker: BrokerId,
        /// Its registration.
        epoch: BrokerEpoch,
    },
    /// There is no such group.
    #[error("the group does not exist")]
    UnknownGroup,
    /// The group has members.
    #[error("the group has members")]
    GroupNotEmpty,
    /// The coordinator's claim on the group is over.
    #[error("the coordinator has been replaced")]
    CoordinatorFenced,
    /// The generation is not the current one.
    #[error("generation {0} is not the group's")]
    OtherGeneration(GroupGeneration),
    /// The member is not one of the generation's.
    #[error("the member is not in the group")]
    UnknownMember,
    /// The offset's metadata is too long.
    #[error("the offset's metadata is longer than {max} bytes")]
    OffsetMetadata {
        /// How long it may be.
        max: u64,
    },
}

impl Refusal {
    /// What the caller may do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::BrokerFenced
            | Self::OtherIncarnation
            | Self::Condemned
            | Self::GroupHeld { .. }
            | Self::CoordinatorFenced
            | Self::OtherGeneration(_)
            | Self::UnknownMember => ErrorKind::Fenced,
            Self::TooManyInFlight | Self::Limit { .. } => ErrorKind::Throttled,
            Self::OtherLocation | Self::FileSealed | Self::Malformed(_) => ErrorKind::Bug,
            Self::UnknownTopic | Self::UnknownPartition | Self::UnknownGroup => ErrorKind::NotFound,
            Self::TopicExists | Self::GroupNotEmpty => ErrorKind::Conflict,
            Self::TopicName(_)
            | Self::PartitionCount(_)
            | Self::ReplicationFactor
            | Self::Config(_)
            | Self::FeatureLevel
            | Self::OffsetMetadata { .. } => ErrorKind::Invalid,
        }
    }
}
