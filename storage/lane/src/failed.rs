//! Which producers lost a batch, so that what follows it is answered in a way that makes the
//! client resend in order.
//!
//! When a flush is given up, batches that the same producer sent after it are refused by the
//! metadata as out of order. To the client that would look fatal, though nothing is wrong: it has to
//! resend from the failed batch on. So an out-of-order answer is translated into the failure of the
//! batch before it, until the producer comes back with the sequence that failed.

use std::collections::BTreeMap;

use tidemill_base::{
    BaseSequence, BatchFacts, BatchOutcome, PartitionId, ProducerEpoch, ProducerId,
};

use crate::answer::{BatchAnswer, FlushFailure};

/// More producers than this with a failure outstanding, and the first in order are forgotten: their
/// clients then see the out-of-order error itself.
const FAILED_PRODUCERS_MAX: usize = 65_536;

type Key = (PartitionId, ProducerId, ProducerEpoch);

/// The first failed sequence of each producer in each partition.
#[derive(Debug, Default)]
pub(crate) struct FailedSequences {
    first: BTreeMap<Key, (BaseSequence, FlushFailure)>,
}

impl FailedSequences {
    /// Remembers that these batches failed.
    pub(crate) fn remember(&mut self, batches: &[BatchFacts], failure: FlushFailure) {
        for (key, sequence) in batches.iter().filter_map(key_of) {
            if self.first.len() >= FAILED_PRODUCERS_MAX && !self.first.contains_key(&key) {
                self.first.pop_first();
            }
            self.first.entry(key).or_insert((sequence, failure));
        }
    }

    /// The answer for a batch whose outcome is known.
    pub(crate) fn translate(&mut self, batch: &BatchFacts, outcome: BatchOutcome) -> BatchAnswer {
        if self.first.is_empty() {
            return BatchAnswer::Decided(outcome);
        }
        let Some((key, sequence)) = key_of(batch) else {
            return BatchAnswer::Decided(outcome);
        };
        match (self.first.get(&key), outcome) {
            (Some((_, failure)), BatchOutcome::OutOfOrder) => BatchAnswer::Failed(*failure),
            (Some((failed, _)), outcome) if *failed == sequence && outcome.is_stored() => {
                self.first.remove(&key);
                BatchAnswer::Decided(outcome)
            }
            _ => BatchAnswer::Decided(outcome),
        }
    }
}

fn key_of(batch: &BatchFacts) -> Option<(Key, BaseSequence)> {
    batch.producer.map(|p| ((batch.partition, p.id, p.epoch), p.base_sequence))
}
