//! Faults with names, rates and targets, thrown from one seed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::dice::Dice;

/// A rate at which a toxic always strikes.
pub const ALWAYS: u32 = 1_000_000;

/// One fault that may strike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Toxic<K> {
    /// Its name, under which it is removed and counted. A toxic of the same name is replaced.
    pub name: &'static str,
    /// What it does.
    pub kind: K,
    /// It strikes only where the path or object contains this; everywhere if empty.
    pub target: String,
    /// How often, of a million calls that it could strike.
    pub per_million: u32,
}

impl<K> Toxic<K> {
    /// A toxic that strikes every time and everywhere.
    pub fn always(name: &'static str, kind: K) -> Self {
        Self { name, kind, target: String::new(), per_million: ALWAYS }
    }

    /// The same toxic, striking at this rate.
    #[must_use]
    pub fn at_rate(self, per_million: u32) -> Self {
        Self { per_million, ..self }
    }

    /// The same toxic, only where the path or object contains `target`.
    #[must_use]
    pub fn only_at(self, target: &str) -> Self {
        Self { target: target.to_owned(), ..self }
    }
}

/// What a toxic does to a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToxicKind {
    /// A file is not created.
    FailCreate,
    /// A write fails after some of its bytes were taken.
    FailWrite,
    /// A sync fails; the dirty pages stay or are dropped, as kernels differ.
    FailSync {
        /// Whether the unsynced bytes are lost although a later sync succeeds. Only a disk in memory
        /// can do that; others keep them.
        drop_dirty: bool,
    },
    /// A sync does its work and then says that it failed.
    LoseSyncAnswer,
    /// A read fails.
    FailRead,
    /// A read returns fewer bytes than there are, but at least one.
    ShortRead,
    /// A read returns one bit wrong.
    FlipBit,
    /// No more than this many bytes may be written through the disk in sum; then it is full.
    Full {
        /// How many.
        bytes: u64,
    },
    /// A write takes this much longer.
    DelayWrite {
        /// How much.
        delay_ms: u64,
    },
    /// A sync takes this much longer.
    DelaySync {
        /// How much.
        delay_ms: u64,
    },
    /// A read takes this much longer.
    DelayRead {
        /// How much.
        delay_ms: u64,
    },
}

/// The toxics of one decorator. Clones share them, so that a test keeps one and changes it while the
/// decorator runs.
#[derive(Clone, Debug)]
pub struct Toxics<K> {
    state: Arc<Mutex<State<K>>>,
}

#[derive(Debug)]
struct State<K> {
    toxics: Vec<Toxic<K>>,
    struck: BTreeMap<&'static str, u64>,
    dice: Dice,
}

impl<K: Clone> Toxics<K> {
    /// None yet; those to come throw from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let state = State { toxics: Vec::new(), struck: BTreeMap::new(), dice: Dice::new(seed) };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Adds a toxic, in place of one of the same name.
    pub fn add(&self, toxic: Toxic<K>) {
        let mut state = self.lock();
        state.toxics.retain(|other| other.name != toxic.name);
        state.toxics.push(toxic);
    }

    /// Removes the toxic of that name.
    pub fn remove(&self, name: &str) {
        self.lock().toxics.retain(|toxic| toxic.name != name);
    }

    /// Removes all; the faults are over.
    pub fn clear(&self) {
        self.lock().toxics.clear();
    }

    /// How often the toxics of that name struck.
    #[must_use]
    pub fn struck(&self, name: &str) -> u64 {
        self.lock().struck.get(name).copied().unwrap_or(0)
    }

    /// The kinds that strike a call on `target`, among those that `concerns` it, in the order in
    /// which they were added.
    pub fn strike(&self, target: &str, concerns: impl Fn(&K) -> bool) -> Vec<K> {
        let state = &mut *self.lock();
        let mut kinds = Vec::new();
        for toxic in &state.toxics {
            if concerns(&toxic.kind)
                && target.contains(&toxic.target)
                && state.dice.chance(toxic.per_million)
            {
                *state.struck.entry(toxic.name).or_insert(0) += 1;
                kinds.push(toxic.kind.clone());
            }
        }
        kinds
    }

    /// A number below `bound` from the same seed.
    #[must_use]
    pub fn roll_below(&self, bound: u64) -> u64 {
        self.lock().dice.below(bound)
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
