//! A partition of a topic, by name and number.

use std::fmt;
use std::sync::Arc;

use tidemill_base::PartitionIndex;

/// A partition of a topic. Ordered by topic, then number; cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: PartitionIndex,
}

impl TopicPartition {
    /// Partition `partition` of `topic`.
    #[must_use]
    pub fn new(topic: impl Into<Arc<str>>, partition: i32) -> Self {
        Self { topic: topic.into(), partition: PartitionIndex(partition) }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}
