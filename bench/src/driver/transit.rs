//! Batches that were sent and not yet consumed: how end-to-end latency is known without marks in
//! the records.
//!
//! Each partition is produced by one connection in order, so the n-th batch that a consumer sees in
//! a partition is the n-th that was sent there.

use std::collections::VecDeque;

/// The most batches in transit per partition; past it the consumer is not following, and the run
/// ends with an error.
const IN_TRANSIT_MAX: usize = 1 << 20;

/// Intended times of the batches in transit, per partition.
#[derive(Debug, Default)]
pub struct Transit {
    intended_ns: Vec<VecDeque<u64>>,
}

impl Transit {
    /// Nothing in transit in any of `partitions`.
    #[must_use]
    pub fn new(partitions: u32) -> Self {
        Self { intended_ns: vec![VecDeque::new(); partitions as usize] }
    }

    /// A batch is sent.
    pub fn depart(&mut self, partition: i32, intended_ns: u64) -> anyhow::Result<()> {
        let Some(queue) = self.queue(partition) else { return Ok(()) };
        anyhow::ensure!(
            queue.len() < IN_TRANSIT_MAX,
            "partition {partition}: {IN_TRANSIT_MAX} batches are sent and not consumed"
        );
        queue.push_back(intended_ns);
        Ok(())
    }

    /// A batch is consumed; answers when it was meant to be sent.
    pub fn arrive(&mut self, partition: i32) -> Option<u64> {
        self.queue(partition)?.pop_front()
    }

    fn queue(&mut self, partition: i32) -> Option<&mut VecDeque<u64>> {
        self.intended_ns.get_mut(usize::try_from(partition).ok()?)
    }
}
