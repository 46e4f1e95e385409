//! Lanes of live brokers: their last sequences, floors and the outcomes they may ask for again.
//!
//! A lane that a live broker has not used is at sequence 0. A lane of any registration that has
//! ended is at the maximum, and is not in the table.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tidemill_base::{
    BatchOutcome, BrokerEpoch, BrokerId, FileNumber, LaneId, LaneKey, LaneSequence, Location,
};

/// An object that was committed and whose outcome its broker may not have.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) sequence: LaneSequence,
    pub(crate) location: Location,
    pub(crate) outcomes: Arc<[BatchOutcome]>,
    /// Whether it is in the written-behind state.
    pub(crate) saved: bool,
}

/// A lane.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lane {
    /// The last object committed, or condemned.
    pub(crate) last: LaneSequence,
    /// References at or below are refused for ever.
    pub(crate) floor: LaneSequence,
    /// Append files up to this number that are not in the table of files have been deleted.
    pub(crate) file_floor: FileNumber,
    /// By rising sequence.
    pub(crate) outcomes: VecDeque<Recorded>,
}

impl Lane {
    pub(crate) fn recorded(&self, sequence: LaneSequence) -> Option<&Recorded> {
        let at =
            self.outcomes.binary_search_by_key(&sequence, |recorded| recorded.sequence).ok()?;
        self.outcomes.get(at)
    }

    /// The sequence that must come next, given the flushes that were given up.
    pub(crate) fn expected(&self, skips: &[LaneSequence]) -> LaneSequence {
        let mut expected = self.last.next();
        while skips.contains(&expected) {
            expected = expected.next();
        }
        expected
    }

    /// How many outcomes would be kept if those up to `received` were forgotten.
    pub(crate) fn kept_beyond(&self, received: LaneSequence) -> usize {
        self.outcomes.len() - self.outcomes.partition_point(|kept| kept.sequence <= received)
    }

    /// Forgets the outcomes up to `received`. Returns those that were saved.
    pub(crate) fn prune(&mut self, received: LaneSequence) -> Vec<LaneSequence> {
        let gone = self.outcomes.partition_point(|kept| kept.sequence <= received);
        let gone = self.outcomes.drain(..gone);
        gone.filter(|recorded| recorded.saved).map(|recorded| recorded.sequence).collect()
    }

    /// Records an outcome. Sequences rise, so that it is the last one.
    pub(crate) fn record(&mut self, recorded: Recorded) {
        if self.outcomes.back().is_none_or(|last| last.sequence < recorded.sequence) {
            self.outcomes.push_back(recorded);
        }
    }

    pub(crate) fn condemn(&mut self, floor: LaneSequence) {
        self.floor = self.floor.max(floor);
        self.last = self.last.max(self.floor);
    }
}

/// The table of lanes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lanes(pub(crate) BTreeMap<LaneKey, Lane>);

impl Lanes {
    /// Takes away every lane of a broker's epochs up to `epoch`.
    pub(crate) fn raise_to_maximum(
        &mut self,
        broker: BrokerId,
        epoch: BrokerEpoch,
    ) -> Vec<(LaneKey, Lane)> {
        let first = LaneKey { broker, epoch: BrokerEpoch(0), lane: LaneId(0) };
        let last = LaneKey { broker, epoch, lane: LaneId(u16::MAX) };
        let keys: Vec<LaneKey> = self.0.range(first..=last).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|key| Some((key, self.0.remove(&key)?))).collect()
    }

    pub(crate) fn approximate_bytes(&self) -> usize {
        let outcomes: usize = self
            .0
            .values()
            .flat_map(|lane| &lane.outcomes)
            .map(|kept| {
                size_of::<Recorded>() + kept.outcomes.len() * size_of::<BatchOutcome>() + 16
            })
            .sum();
        outcomes + self.0.len() * (size_of::<Lane>() + size_of::<LaneKey>()) * 3 / 2
    }
}
