//! A partition as the state keeps it: its log and its producers.

use tidemill_base::{PartitionIndex, TopicId};

use crate::partition_log::PartitionLog;
use crate::producers::Producers;

/// A partition.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    pub(crate) topic: TopicId,
    pub(crate) index: PartitionIndex,
    pub(crate) log: PartitionLog,
    pub(crate) producers: Producers,
    /// Whether its record or a chunk has changed since it was saved.
    pub(crate) dirty: bool,
}

impl Partition {
    pub(crate) fn new(topic: TopicId, index: PartitionIndex) -> Self {
        let (log, producers) = (PartitionLog::new(), Producers::default());
        Self { topic, index, log, producers, dirty: false }
    }

    pub(crate) fn approximate_bytes(&self) -> usize {
        size_of::<Self>() - size_of::<PartitionLog>()
            + self.log.approximate_bytes()
            + self.producers.approximate_bytes()
    }
}
