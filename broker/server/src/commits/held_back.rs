//! Which objects were held back: not proposed, to be offered again by their lane.
//!
//! Objects behind one that was held back would only be answered with a gap, each after its command
//! went through the metadata log. So they are held back as well, until that one is proposed or
//! named as a skip.

use std::collections::BTreeMap;

use tidemill_base::{LaneKey, LaneSequence};

/// The first object of each lane that was held back; one entry for a lane at most.
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    first: BTreeMap<LaneKey, LaneSequence>,
}

impl HeldBack {
    /// Whether an object waits behind one that was held back.
    pub(super) fn is_behind(
        &mut self,
        lane: LaneKey,
        sequence: LaneSequence,
        skips: &[LaneSequence],
    ) -> bool {
        let Some(first) = self.first.get(&lane).copied() else { return false };
        if sequence > first && !skips.contains(&first) {
            return true;
        }
        if sequence >= first {
            self.first.remove(&lane);
        }
        false
    }

    /// An object is held back.
    pub(super) fn hold(&mut self, lane: LaneKey, sequence: LaneSequence) {
        let first = self.first.entry(lane).or_insert(sequence);
        *first = sequence.min(*first);
    }
}

#[cfg(test)]
mod tests {
    use tidemill_base::{BrokerEpoch, BrokerId, LaneId};

    use super::*;

    fn lane(number: u16) -> LaneKey {
        LaneKey { broker: BrokerId(1), epoch: BrokerEpoch(1), lane: LaneId(number) }
    }

    fn is_behind(held: &mut HeldBack, sequence: u64, skips: &[u64]) -> bool {
        let skips: Vec<_> = skips.iter().copied().map(LaneSequence).collect();
        held.is_behind(lane(0), LaneSequence(sequence), &skips)
    }

    #[test]
    fn what_follows_waits_until_the_first_is_proposed() {
        let mut held = HeldBack::default();
        held.hold(lane(0), LaneSequence(5));
        assert!(is_behind(&mut held, 6, &[]));
        held.hold(lane(0), LaneSequence(6));
        assert!(!held.is_behind(lane(1), LaneSequence(6), &[]), "another lane");
        assert!(!is_behind(&mut held, 4, &[]), "one before it");
        assert!(is_behind(&mut held, 6, &[]));
        assert!(!is_behind(&mut held, 5, &[]), "itself");
        assert!(!is_behind(&mut held, 6, &[]));
    }

    #[test]
    fn an_object_that_was_given_up_holds_nobody_back() {
        let mut held = HeldBack::default();
        held.hold(lane(0), LaneSequence(5));
        assert!(is_behind(&mut held, 7, &[6]));
        assert!(!is_behind(&mut held, 7, &[5, 6]));
        assert!(!is_behind(&mut held, 8, &[]));
    }
}
