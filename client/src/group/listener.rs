//! What an application does when its partitions change.

use crate::group::offsets::Offsets;
use crate::topic_partition::TopicPartition;

/// Told by [`crate::Consumer::poll`] of partitions that come and go. A poll that is cancelled in
/// between tells it again.
pub trait RebalanceListener: Send {
    /// These partitions are the consumer's from now on; their positions are not looked up yet.
    fn assigned(&mut self, partitions: &[TopicPartition]) {
        let _ = partitions;
    }

    /// These partitions are about to be given to others. Answers the offsets to commit before; none
    /// means none beside what is committed automatically. `positions` are those of the next records
    /// that poll would answer.
    fn revoked(&mut self, partitions: &[TopicPartition], positions: &Offsets) -> Offsets {
        let _ = (partitions, positions);
        Offsets::new()
    }

    /// These partitions may have been given to others already; nothing can be committed any more.
    fn lost(&mut self, partitions: &[TopicPartition]) {
        let _ = partitions;
    }
}
