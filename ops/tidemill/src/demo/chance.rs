//! Chance that a seed repeats: SplitMix64.

/// A source of numbers that look random and follow from the seed.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    /// The source of that seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A number below `bound`, which is at least 1. Slightly favours small ones, which is of no
    /// consequence here.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// An index of a slice of `length`.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}
