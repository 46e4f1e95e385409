//! Chance from a seed: SplitMix64, for jitter, sticky partitions and the choice of brokers.
//!
//! The same seed gives the same numbers for ever; nothing here is fit for secrets.

/// A small generator of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Prng(u64);

impl Prng {
    /// The generator of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0. Its bias is below 2^-32 for small bounds.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut prng = Prng::new(1_234_567);
        assert_eq!(
            [prng.next(), prng.next(), prng.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn bounded_numbers_stay_below_their_bound_and_reach_every_value() {
        let mut prng = Prng::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[prng.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
    }
}
