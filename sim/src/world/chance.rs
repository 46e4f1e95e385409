//! Chance from a seed, shared by the tasks of one run.

use std::sync::Arc;

use parking_lot::Mutex;
use tidemill_appendfile::twin::Dice;

/// A source of chance. Clones share it; a run has one thread, so the order of throws is the order of
/// the run.
#[derive(Clone, Debug)]
pub struct Chance {
    dice: Arc<Mutex<Dice>>,
}

impl Chance {
    /// Chance that follows from `seed` alone.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { dice: Arc::new(Mutex::new(Dice::new(seed))) }
    }

    /// A number from 0 to `bound - 1`.
    pub fn below(&self, bound: u64) -> u64 {
        self.dice.lock().below(bound.max(1))
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in `per_million` of a million throws.
    pub fn hits(&self, per_million: u32) -> bool {
        self.dice.lock().chance(per_million)
    }

    /// A seed for another source.
    pub fn seed(&self) -> u64 {
        self.dice.lock().roll()
    }
}
