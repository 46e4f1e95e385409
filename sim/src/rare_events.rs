//! How often rare things happened: a simulation in which they never do proves nothing about them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tidemill_broker_server::node::Node;

/// The events of which each must have happened at least once in the seeds of CI.
pub const REQUIRED: &[&str] = &[
    "duplicate answered",
    "flush skipped",
    "lane gap",
    "commit held back",
    "lost answer asked again",
    "put failed",
    "torn tail cut",
    "write failover",
    "fetch out of range",
    "topic recreated",
    "state saved",
    "log replayed",
    "condemned commit",
    "late offsets refused",
    "fold refused",
    "low on space",
    "records refused while low on space",
    "log read while low on space",
    "reserve given up",
    "came back from low on space",
    "orphan of the present life collected",
    "late fold of a deleted object refused",
    "sent from a file",
    "member expired",
    "member left",
    "rebalanced",
    "generation outlived the node",
    "offsets read after a crash",
    "commit of an old generation refused",
];

/// Counts by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RareEvents {
    counts: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

impl RareEvents {
    /// Counts `times` more of an event.
    pub fn add(&self, name: &'static str, times: u64) {
        *self.counts.lock().entry(name).or_default() += times;
    }

    /// Adds what a life of the node counted.
    pub fn take_from(&self, node: &Node) {
        let writer = &node.counters().writer;
        let raft = node.broker().metadata.metrics();
        let reads = &node.counters().reads;
        let counted: [(&'static str, &AtomicU64); 10] = [
            ("flush skipped", &writer.skips),
            ("lane gap", &writer.gaps),
            ("lost answer asked again", &writer.ambiguous),
            ("put failed", &writer.put_failures),
            ("write failover", &writer.failovers),
            ("torn tail cut", &raft.torn_tails_cut),
            ("state saved", &raft.saves),
            ("log replayed", &raft.entries_replayed),
            ("sent from a file", &reads.lent_reads),
            ("commit held back", node.broker().view.held_back()),
        ];
        for (name, counter) in counted {
            self.add(name, counter.load(Ordering::Relaxed));
        }
    }

    /// Adds the counts of another run.
    pub fn merge(&self, other: &Self) {
        for (name, times) in other.counts() {
            self.add(name, times);
        }
    }

    /// All counts, by name.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.lock().clone()
    }

    /// The required events that never happened.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let counts = self.counts.lock();
        REQUIRED.iter().copied().filter(|name| counts.get(name).is_none_or(|c| *c == 0)).collect()
    }
}
