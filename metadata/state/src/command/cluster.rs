//! Commands about the cluster as a whole.

use tidemill_base::{BrokerEpoch, BrokerId, Incarnation};

use crate::codec::encoded;

encoded! {
    /// Gives a broker a block of producer ids of its own.
    pub struct AllocateProducerIds {
        /// Who asks.
        pub broker: BrokerId,
        /// Under which registration.
        pub epoch: BrokerEpoch,
        /// How many ids: 1 to [`Self::COUNT_MAX`].
        pub count: u32,
    }

    /// Raises the level of behaviour that all members support.
    pub struct RaiseFeatureLevel {
        /// The new level; never below the current one.
        pub level: u16,
    }

    /// Starts a new life of the cluster after a restore: every leader epoch is raised, every broker
    /// fenced, every producer id given out so far fenced.
    pub struct StartIncarnation {
        /// The new life; above the current one.
        pub incarnation: Incarnation,
    }

    /// Lets time pass: advances state time and expires a bounded number of idle producers.
    pub struct Tick {}
}

impl AllocateProducerIds {
    /// The largest block.
    pub const COUNT_MAX: u32 = 1_000_000;
}
