//! How long to wait before trying again: doubling, bounded, with jitter so that clients that failed
//! together do not return together.

use crate::prng::Prng;

/// A rule for waiting between attempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Backoff {
    /// The wait after the first failure, in milliseconds.
    pub(crate) initial_ms: u64,
    /// The longest wait, jitter not counted.
    pub(crate) max_ms: u64,
}

impl Backoff {
    /// The wait after `failures` failures in a row (at least 1): the doubled initial wait within
    /// the maximum, and up to 20 % less or more.
    pub(crate) fn wait_ms(&self, failures: u32, prng: &mut Prng) -> u64 {
        let doublings = failures.saturating_sub(1).min(32);
        let wait = self.initial_ms.saturating_mul(1 << doublings).min(self.max_ms);
        let spread = wait / 5;
        wait - spread + prng.below(2 * spread + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_maximum_and_jitter_by_a_fifth() {
        let backoff = Backoff { initial_ms: 100, max_ms: 1_000 };
        let mut prng = Prng::new(3);
        for (failures, wait) in [(1, 100), (2, 200), (3, 400), (4, 800), (5, 1_000), (90, 1_000)] {
            for _ in 0..50 {
                let found = backoff.wait_ms(failures, &mut prng);
                assert!((wait * 4 / 5..=wait * 6 / 5).contains(&found), "{failures}: {found}");
            }
        }
    }

    #[test]
    fn the_same_seed_waits_the_same() {
        let backoff = Backoff { initial_ms: 50, max_ms: 900 };
        let waits = |seed| {
            let mut prng = Prng::new(seed);
            (1..9).map(|failures| backoff.wait_ms(failures, &mut prng)).collect::<Vec<_>>()
        };
        assert_eq!(waits(11), waits(11));
        assert_ne!(waits(11), waits(12));
    }
}
