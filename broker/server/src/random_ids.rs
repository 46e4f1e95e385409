//! Ids that must never repeat: topic ids, session ids, member ids.
//!
//! The generator is seeded from outside: by the operating system's randomness in production, by the
//! simulation's seed there. It is SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
//! generators, 2014), twice for 128 bits; ids are unique, not secret.

use parking_lot::Mutex;
use uuid::Uuid;

/// A source of ids.
#[derive(Debug)]
pub struct RandomIds {
    state: Mutex<[u64; 2]>,
}

impl RandomIds {
    /// A source whose ids depend on `seed` alone.
    #[must_use]
    pub fn new(seed: u128) -> Self {
        Self { state: Mutex::new([(seed >> 64) as u64, seed as u64]) }
    }

    /// A random UUID (version 4): never zero.
    pub fn uuid(&self) -> Uuid {
        let mut state = self.state.lock();
        let [high, low] = &mut *state;
        let bits = u128::from(split_mix(high)) << 64 | u128::from(split_mix(low));
        uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid()
    }

    /// A number from 1 to `i32::MAX`.
    pub fn positive_i32(&self) -> i32 {
        let bits = (self.uuid().as_u128() as u32) >> 1;
        i32::try_from(bits).unwrap_or(1).max(1)
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_from_the_seed_and_do_not_repeat() {
        let (a, b) = (RandomIds::new(7), RandomIds::new(7));
        let ids: std::collections::BTreeSet<Uuid> = (0..1000).map(|_| a.uuid()).collect();
        assert_eq!(ids.len(), 1000);
        assert!((0..1000).all(|_| ids.contains(&b.uuid())));
        assert!((0..100).all(|_| a.positive_i32() > 0));
    }
}
