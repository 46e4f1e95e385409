//! The heads that batches get before their offsets are decided: where they will lie, as far as is
//! known.
//!
//! A batch's offset is decided by its commit, after its bytes are durable. But as long as nobody else
//! writes to the partition and nothing is refused, the offset can be told beforehand; and a batch that
//! lies in the file with the right head can be sent from there as it is. A wrong head costs a copy
//! when the batch is served, and nothing else: whoever reads compares it with what was committed.
//!
//! Invariant that readers lean on: within one object the heads of one partition are consecutive, each
//! beginning where the one before ends, all of one leader epoch. So if the first batch of an extent
//! (which has no refused batch inside) has the right head, they all have.
//!
//! Memory: one chain per partition that has batches under way, which the lane bounds.

use std::collections::BTreeMap;

use tidemill_base::{BatchFacts, BatchOutcome, LeaderEpoch, Offset, PartitionId};
use tidemill_storage_lane::BatchAnswer;

/// Where a partition goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogEnd {
    /// The next offset.
    pub offset: Offset,
    /// The leader epoch that batches appended now belong to.
    pub leader_epoch: LeaderEpoch,
}

/// The port to whatever knows where partitions end. Advice: it may be old.
pub trait LogEnds: Send + Sync + 'static {
    /// Where a partition ends as far as is known, or `None` if it is not known.
    fn log_end(&self, partition: PartitionId) -> Option<LogEnd>;
}

/// No batch ever lies here: a head that says so is never the right one.
const UNKNOWN: LogEnd = LogEnd { offset: Offset(-1), leader_epoch: LeaderEpoch(-1) };

/// What was told about the batches under way.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    chains: BTreeMap<PartitionId, Chain>,
}

/// The batches of one partition that are under way.
#[derive(Debug)]
struct Chain {
    /// Where the next batch would begin had all gone as told from the first on.
    next: Offset,
    /// By how much reality was found to differ from that.
    drift: i64,
    leader_epoch: LeaderEpoch,
    batches_under_way: u32,
}

/// What was told of one batch, to be compared with its outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    partition: PartitionId,
    /// Where it begins in its chain, drift left out.
    base: Option<Offset>,
    record_count: u32,
}

impl Heads {
    /// Where the next batch of a partition will lie; [`UNKNOWN`] if nothing is known about it.
    pub(crate) fn next(&mut self, facts: &BatchFacts, ends: &dyn LogEnds) -> (Told, LogEnd) {
        let (partition, record_count) = (facts.partition, facts.record_count);
        let chain = match self.chains.entry(partition) {
            std::collections::btree_map::Entry::Occupied(chain) => chain.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let Some(end) = ends.log_end(partition) else {
                    return (Told { partition, base: None, record_count }, UNKNOWN);
                };
                place.insert(Chain {
                    next: end.offset,
                    drift: 0,
                    leader_epoch: end.leader_epoch,
                    batches_under_way: 0,
                })
            }
        };
        let base = chain.next;
        chain.next = base.plus(record_count);
        chain.batches_under_way += 1;
        let offset = Offset(base.0 + chain.drift);
        let head = LogEnd { offset, leader_epoch: chain.leader_epoch };
        (Told { partition, base: Some(base), record_count }, head)
    }

    /// Learns what became of a batch.
    pub(crate) fn decided(&mut self, told: Told, answer: &BatchAnswer) {
        let Some(base) = told.base else { return };
        let Some(chain) = self.chains.get_mut(&told.partition) else { return };
        match answer {
            BatchAnswer::Decided(BatchOutcome::Committed { base_offset, .. }) => {
                chain.drift = base_offset.0 - base.0;
            }
            // It takes no offsets; those after it move up.
            _ => chain.drift -= i64::from(told.record_count),
        }
        chain.batches_under_way -= 1;
        if chain.batches_under_way == 0 {
            self.chains.remove(&told.partition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ends(i64);

    impl LogEnds for Ends {
        fn log_end(&self, _: PartitionId) -> Option<LogEnd> {
            Some(LogEnd { offset: Offset(self.0), leader_epoch: LeaderEpoch(2) })
        }
    }

    fn facts(record_count: u32) -> BatchFacts {
        BatchFacts {
            partition: PartitionId(1),
            position: 0,
            length: 100,
            record_count,
            max_timestamp: tidemill_base::TimestampMs(0),
            producer: None,
            transactional: false,
        }
    }

    fn committed(base: i64) -> BatchAnswer {
        let (base_offset, log_start) = (Offset(base), Offset(0));
        BatchAnswer::Decided(BatchOutcome::Committed { base_offset, log_start })
    }

    fn next(heads: &mut Heads, records: u32, end: i64) -> (Told, i64) {
        let (told, head) = heads.next(&facts(records), &Ends(end));
        (told, head.offset.0)
    }

    #[test]
    fn batches_under_way_follow_each_other_from_the_known_end() {
        let mut heads = Heads::default();
        let (first, at) = next(&mut heads, 10, 100);
        assert_eq!(at, 100);
        // What is known meanwhile does not matter while batches are under way.
        assert_eq!(next(&mut heads, 5, 100).1, 110);
        heads.decided(first, &committed(100));
        assert_eq!(next(&mut heads, 1, 110).1, 115);
    }

    #[test]
    fn after_a_refusal_later_batches_move_up_once() {
        let mut heads = Heads::default();
        let (first, _) = next(&mut heads, 10, 0);
        let (second, _) = next(&mut heads, 5, 0);
        heads.decided(first, &BatchAnswer::Decided(BatchOutcome::OutOfOrder));
        assert_eq!(next(&mut heads, 1, 0).1, 5);
        heads.decided(second, &committed(0));
        assert_eq!(next(&mut heads, 1, 0).1, 6);
    }

    #[test]
    fn after_another_writer_the_chain_follows_what_was_committed() {
        let mut heads = Heads::default();
        let (first, _) = next(&mut heads, 10, 0);
        let (second, _) = next(&mut heads, 10, 0);
        heads.decided(first, &committed(7));
        assert_eq!(next(&mut heads, 1, 0).1, 27);
        heads.decided(second, &committed(17));
        assert_eq!(next(&mut heads, 1, 0).1, 28);
    }

    #[test]
    fn nothing_is_kept_of_a_partition_without_batches_under_way() {
        let mut heads = Heads::default();
        let (first, _) = next(&mut heads, 10, 0);
        heads.decided(first, &BatchAnswer::Ambiguous);
        assert!(heads.chains.is_empty());
        assert_eq!(next(&mut heads, 1, 500).1, 500);
    }
}
