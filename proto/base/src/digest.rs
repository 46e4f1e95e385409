//! The digest of extents: what a fold names, so that it replaces exactly the extents it read.
//!
//! - The writer of an index object and the metadata compute it apart from one another, over the
//!   same extents in the same order; equal digests mean that nothing was replaced in between.
//! - It is stored in commands and index objects: the function below never changes.
//! - It guards against mistakes and races, not against an adversary who chooses extents.
//!
//! The function: `h` begins as [`ExtentDigest::EMPTY`]. Each extent is five words of 64 bits: base
//! offset, position, length in the high half and record count in the low, max timestamp, leader
//! epoch (sign-extended). For each word: `h = (h ^ word) * 0x9E37_79B9_7F4A_7C15` (modulo 2^64),
//! then `h = h ^ (h >> 32)`. Both steps can be undone, so runs that differ in a single word always
//! have different digests.

use crate::position::{LeaderEpoch, Offset, TimestampMs};

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// An extent without the file that holds it: what an index object lists and a digest covers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExtentFacts {
    /// The offset of the first record.
    pub base_offset: Offset,
    /// The first byte within the file.
    pub position: u64,
    /// How many bytes; at least 1.
    pub length: u32,
    /// How many offsets; at least 1.
    pub record_count: u32,
    /// The largest timestamp in it.
    pub max_timestamp: TimestampMs,
    /// The leader epoch under which it was committed.
    pub leader_epoch: LeaderEpoch,
}

impl ExtentFacts {
    /// The offset after the last record.
    #[must_use]
    pub fn end_offset(&self) -> Offset {
        Offset(self.base_offset.0.saturating_add(i64::from(self.record_count)))
    }
}

/// The digest of extents in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExtentDigest(pub u64);

impl ExtentDigest {
    /// The digest of no extents.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// The digest of `extents`.
    #[must_use]
    pub fn of(extents: impl IntoIterator<Item = ExtentFacts>) -> Self {
        extents.into_iter().fold(Self::EMPTY, |digest, extent| digest.then(&extent))
    }

    /// The digest of the same extents and one more at their end.
    #[must_use]
    pub fn then(self, extent: &ExtentFacts) -> Self {
        let words = [
            extent.base_offset.0 as u64,
            extent.position,
            u64::from(extent.length) << 32 | u64::from(extent.record_count),
            extent.max_timestamp.0 as u64,
            i64::from(extent.leader_epoch.0) as u64,
        ];
        Self(words.into_iter().fold(self.0, |digest, word| {
            let product = (digest ^ word).wrapping_mul(MULTIPLIER);
            product ^ product >> 32
        }))
    }
}

impl Default for ExtentDigest {
    fn default() -> Self {
        Self::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENT: ExtentFacts = ExtentFacts {
        base_offset: Offset(1_000),
        position: 4_096,
        length: 16_500,
        record_count: 16,
        max_timestamp: TimestampMs(1_700_000_000_000),
        leader_epoch: LeaderEpoch(3),
    };

    #[test]
    fn the_function_never_changes() {
        let next = ExtentFacts { base_offset: Offset(1_016), position: 20_596, ..EXTENT };
        assert_eq!(ExtentDigest::of([]), ExtentDigest::EMPTY);
        assert_eq!(ExtentDigest::of([EXTENT]), ExtentDigest(ONE));
        assert_eq!(ExtentDigest::of([EXTENT, next]), ExtentDigest(TWO));
    }

    const ONE: u64 = 0x767a_8293_dd12_c4c6;
    const TWO: u64 = 0xe27e_0ac1_de75_fc8e;

    #[test]
    fn every_field_counts() {
        let digest = ExtentDigest::of([EXTENT]);
        for other in [
            ExtentFacts { base_offset: Offset(1_001), ..EXTENT },
            ExtentFacts { position: 4_097, ..EXTENT },
            ExtentFacts { length: 16_501, ..EXTENT },
            ExtentFacts { record_count: 17, ..EXTENT },
            ExtentFacts { max_timestamp: TimestampMs(0), ..EXTENT },
            ExtentFacts { leader_epoch: LeaderEpoch(4), ..EXTENT },
        ] {
            assert_ne!(ExtentDigest::of([other]), digest);
        }
    }

    #[test]
    fn order_counts() {
        let next = ExtentFacts { base_offset: Offset(1_016), ..EXTENT };
        assert_ne!(ExtentDigest::of([EXTENT, next]), ExtentDigest::of([next, EXTENT]));
    }
}
