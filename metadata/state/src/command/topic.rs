//! Commands about topics and their partitions.

use tidemill_base::TopicId;

use crate::codec::encoded;

encoded! {
    /// Creates a topic.
    pub struct CreateTopic {
        /// Its name: Kafka's rules.
        pub name: String,
        /// Its id, drawn by the proposer; never zero.
        pub id: TopicId,
        /// How many partitions: 1 to [`Self::PARTITIONS_MAX`].
        pub partitions: u32,
        /// What the client asked for: -1 or 1 to 100. Only echoed, since the store replicates.
        pub replication_factor: i16,
        /// The configs that differ from the defaults.
        pub configs: Vec<(String, String)>,
    }

    /// Deletes a topic, its records and its committed offsets.
    pub struct DeleteTopic {
        /// The topic.
        pub topic: TopicId,
    }

    /// Adds partitions to a topic.
    pub struct CreatePartitions {
        /// The topic.
        pub topic: TopicId,
        /// How many it shall have in all; more than it has.
        pub partitions_total: u32,
    }
}

impl CreateTopic {
    /// The most partitions of one topic.
    pub const PARTITIONS_MAX: u32 = 10_000;
}
