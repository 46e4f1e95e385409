//! Chance from a seed: the same seed gives the same run.

/// A stream of numbers that follows from its seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    /// A stream. Different seeds give unrelated streams.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(scramble(seed ^ 0x7469_6465_6d69_6c6c))
    }

    /// A stream of its own for `part`, which does not depend on how far this one has been used.
    #[must_use]
    pub fn of(seed: u64, part: u64) -> Self {
        Self(scramble(scramble(seed ^ 0x7469_6465_6d69_6c6c) ^ part.wrapping_mul(STEP)))
    }

    /// The next 64 bits.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        scramble(self.0)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.roll()) * end as u128) >> 64) as usize
    }

    /// A number from `from` to `to`, both included.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + ((u128::from(self.roll()) * u128::from(to - from + 1)) >> 64) as u64
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.roll().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut chance = Chance::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[chance.below(5)] = true;
            assert!((3..=4).contains(&chance.between(3, 4)));
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(chance.below(0), 0);
    }

    #[test]
    fn the_same_seed_gives_the_same_stream_and_parts_differ() {
        assert_eq!(Chance::of(1, 2).roll(), Chance::of(1, 2).roll());
        assert_ne!(Chance::of(1, 2).roll(), Chance::of(1, 3).roll());
        assert_ne!(Chance::of(2, 2).roll(), Chance::of(1, 2).roll());
    }
}
