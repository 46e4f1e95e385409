//! Ids as newtypes: what names a thing, never where it is.
//!
//! Every id is a thin wrapper with its number public, because an id has no invariant beyond its
//! width; what must not be mixed up is the kind, and the type keeps that.

use std::fmt;

pub use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}
pub(crate) use id;

id! {
    /// One life of a cluster. A restore from the bucket starts a new one; numbers only rise.
    Incarnation(u32)
}
id! {
    /// A process that serves clients, as Kafka clients see it (`node.id`). Never negative.
    BrokerId(i32)
}
id! {
    /// One registration of a broker. Raised by the metadata each time the broker registers; a
    /// broker with an older epoch is fenced.
    BrokerEpoch(u32)
}
id! {
    /// One ordered pipeline of flushes in a broker.
    LaneId(u16)
}
id! {
    /// The place of a flush in its lane. The first is 1; 0 means "none yet".
    LaneSequence(u64)
}
id! {
    /// The cluster's own id of a partition. Never reused: a topic that is deleted and created again
    /// under its name has new ids, so that nothing of the old life can reach the new one.
    PartitionId(u32)
}
id! {
    /// Kafka's number of a partition within its topic, from 0.
    PartitionIndex(i32)
}
id! {
    /// Kafka's topic id: a UUID, never zero and never reused.
    TopicId(Uuid)
}
id! {
    /// Kafka's producer id; -1 on the wire means "none" and is never wrapped in this type.
    ProducerId(i64)
}
id! {
    /// Kafka's epoch of a producer id, from 0 to `i16::MAX`.
    ProducerEpoch(i16)
}

id! {
    /// One claim of a group by a coordinator. Drawn from one counter of the cluster, so that it
    /// rises and is never reused, not even by a group deleted and created again.
    GroupEpoch(u64)
}
id! {
    /// Kafka's generation of a group; rises with every completed rebalance.
    GroupGeneration(i32)
}

/// A lane of one life of a broker: what floors, outcomes and files belong to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LaneKey {
    /// The broker that flushes.
    pub broker: BrokerId,
    /// The registration under which it flushes.
    pub epoch: BrokerEpoch,
    /// The lane within the broker.
    pub lane: LaneId,
}

/// The name of a log object: who flushed it, and as which of its flushes.
///
/// Two objects never share an id, and an id is only ever proposed with one location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ObjectId {
    /// The life of the cluster in which it was written.
    pub incarnation: Incarnation,
    /// The lane that wrote it.
    pub lane: LaneKey,
    /// Its place in the lane, from 1.
    pub sequence: LaneSequence,
}

impl fmt::Display for LaneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.broker, self.epoch, self.lane)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.incarnation, self.lane, self.sequence)
    }
}

impl LaneId {
    /// A writer's *object lane*: it names everything that is not a log object (index objects,
    /// segments, manifests). Its sequence only rises and may have gaps.
    pub const OBJECTS: Self = Self(u16::MAX);
}

impl LaneSequence {
    /// The sequence after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
