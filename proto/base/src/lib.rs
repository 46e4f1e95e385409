//! Ids, positions, units, `ErrorKind` and the ports that every part of Tidemill shares.
//!
//! This crate knows nothing of Kafka's wire, of files or of Raft. It holds the words of the
//! three seams (the log, the metadata, the objects) so that the crates on either side of a seam
//! need not import each other.
//!
//! Read in this order: [`ids`], [`position`], [`location`], [`file_range`], [`commit`], [`error`], [`ports`],
//! [`twins`].

pub mod commit;
pub mod digest;
pub mod error;
pub mod file_range;
pub mod ids;
pub mod location;
pub mod ports;
pub mod position;
pub mod twins;

pub use commit::{BatchFacts, BatchOutcome, ProducerFacts};
pub use digest::{ExtentDigest, ExtentFacts};
pub use error::ErrorKind;
pub use file_range::{FileRange, LendingFile};
pub use ids::{
    BrokerEpoch, BrokerId, GroupEpoch, GroupGeneration, Incarnation, LaneId, LaneKey, LaneSequence,
    ObjectId, PartitionId, PartitionIndex, ProducerEpoch, ProducerId, TopicId,
};
pub use location::{FileId, FileNumber, Location};
pub use ports::{Clock, Spawn};
pub use position::{AppliedIndex, BaseSequence, LeaderEpoch, Offset, TimestampMs};
