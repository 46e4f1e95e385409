//! Idempotent producers of one partition: the only judge of sequences.
//!
//! - Five batches are kept of each producer. One of them again is a duplicate with its first
//!   offset; an older one is a duplicate whose offset is forgotten, but only if this entry has seen
//!   it: what was never stored is never called a duplicate.
//! - The first batch of an epoch must have sequence 0, unless the producer's id is at most the
//!   highest whose entry this partition ever expired or evicted (then it may be going on).

use std::collections::BTreeMap;

use tidemill_base::twins::{self, Twin};
use tidemill_base::{BaseSequence, Offset, ProducerEpoch, ProducerFacts, ProducerId, TimestampMs};

use crate::codec::{DecodeError, Encoded, Reader, Writer, encoded};

/// Batches kept besides the last.
const OLDER_MAX: usize = 4;

/// How many sequences there are: 0 to `i32::MAX`.
const SEQUENCES: i64 = 1 << 31;

/// How far back a sequence counts as seen. Half the circle: what lies further back lies ahead.
const SEEN_MAX: u32 = 1 << 30;

encoded! {
    /// A batch that was committed.
    #[derive(Copy, Default)]
    pub(crate) struct KeptBatch {
        base_sequence: i32,
        record_count: u32,
        base_offset: i64,
    }
}

/// What a partition remembers of a producer.
#[derive(Clone, Debug)]
pub(crate) struct Producer {
    last: KeptBatch,
    /// The batches before the last, the latest first; `older_count` of them.
    older: Option<Box<[KeptBatch; OLDER_MAX]>>,
    pub(crate) last_active: TimestampMs,
    /// How many records in sequence this entry has seen of the epoch, up to [`SEEN_MAX`].
    seen: u32,
    epoch: i16,
    older_count: u8,
    /// Whether it has changed since it was saved.
    pub(crate) dirty: bool,
}

/// What becomes of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// It is new and is recorded with the offset offered; the flag says whether a producer was
    /// added.
    New { added: bool },
    /// It was committed with this first offset.
    Duplicate(Offset),
    /// It was committed, before the batches that are kept.
    DuplicateForgotten,
    /// It does not follow.
    OutOfOrder,
    /// A newer epoch of the producer is known.
    Fenced,
    /// There is no room for another producer.
    Full,
}

/// The producers of one partition.
#[derive(Clone, Debug)]
pub(crate) struct Producers {
    pub(crate) entries: BTreeMap<ProducerId, Producer>,
    /// The highest id whose entry was ever expired or evicted; -1 for none.
    pub(crate) highest_forgotten: i64,
}

impl Default for Producers {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), highest_forgotten: -1 }
    }
}

impl Producers {
    /// Judges a batch that would get `base_offset`, and records it if it is new. `room` says
    /// whether another producer may be added.
    pub(crate) fn admit(
        &mut self,
        batch: &ProducerFacts,
        record_count: u32,
        base_offset: Offset,
        now: TimestampMs,
        room: bool,
    ) -> Admission {
        let kept = KeptBatch {
            base_sequence: batch.base_sequence.0,
            record_count,
            base_offset: base_offset.0,
        };
        if batch.base_sequence.0 < 0 {
            return Admission::OutOfOrder;
        }
        let may_go_on = batch.id.0 <= self.highest_forgotten;
        let Some(known) = self.entries.get_mut(&batch.id) else {
            if batch.base_sequence.0 != 0 && !may_go_on {
                return Admission::OutOfOrder;
            }
            if !room {
                return Admission::Full;
            }
            self.entries.insert(batch.id, Producer::new(batch.epoch, kept, now));
            return Admission::New { added: true };
        };
        if batch.epoch.0 < known.epoch {
            return Admission::Fenced;
        }
        if batch.epoch.0 > known.epoch {
            if batch.base_sequence.0 != 0 && !may_go_on {
                return Admission::OutOfOrder;
            }
            let dirty = known.dirty;
            *known = Producer { dirty, ..Producer::new(batch.epoch, kept, now) };
            return Admission::New { added: false };
        }
        known.admit_next(kept, now)
    }

    /// Forgets a producer, and remembers that its id may come back in the middle of a sequence.
    pub(crate) fn forget(&mut self, id: ProducerId) -> bool {
        let known = self.entries.remove(&id).is_some();
        if known {
            self.highest_forgotten = self.highest_forgotten.max(id.0);
        }
        known
    }

    pub(crate) fn approximate_bytes(&self) -> usize {
        let older = self.entries.values().filter(|producer| producer.older.is_some()).count();
        let node = (size_of::<ProducerId>() + size_of::<Producer>()) * 11 / 6 + 4;
        self.entries.len() * node + older * (size_of::<[KeptBatch; OLDER_MAX]>() + 16)
    }
}

impl Producer {
    fn new(epoch: ProducerEpoch, first: KeptBatch, now: TimestampMs) -> Self {
        Self {
            last: first,
            older: None,
            last_active: now,
            seen: first.record_count.min(SEEN_MAX),
            epoch: epoch.0,
            older_count: 0,
            dirty: false,
        }
    }

    /// The sequence that comes next.
    fn expected(&self) -> i32 {
        BaseSequence(self.last.base_sequence).plus(self.last.record_count).0
    }

    fn kept(&self) -> impl Iterator<Item = &KeptBatch> {
        let older = self.older.iter().flat_map(|older| &older[..usize::from(self.older_count)]);
        std::iter::once(&self.last).chain(older)
    }

    fn admit_next(&mut self, batch: KeptBatch, now: TimestampMs) -> Admission {
        if batch.base_sequence != self.expected() {
            let answer = self.judge_again(&batch);
            if answer != Admission::OutOfOrder || !self.accepts_stale(&batch) {
                return answer;
            }
        }
        let kept_max =
            if twins::is_on(Twin::DuplicateWindowOfFour) { OLDER_MAX - 1 } else { OLDER_MAX };
        let older = self.older.get_or_insert_default();
        older.rotate_right(1);
        older[0] = self.last;
        self.older_count = (usize::from(self.older_count) + 1).min(kept_max) as u8;
        self.last = batch;
        self.seen = self.seen.saturating_add(batch.record_count).min(SEEN_MAX);
        self.last_active = now;
        Admission::New { added: false }
    }

    /// Judges a batch that is not the next: kept, forgotten, or not known at all.
    fn judge_again(&self, batch: &KeptBatch) -> Admission {
        if twins::is_on(Twin::StaleSequenceAccepted) {
            return Admission::OutOfOrder;
        }
        let same = |kept: &&KeptBatch| {
            kept.base_sequence == batch.base_sequence && kept.record_count == batch.record_count
        };
        if let Some(kept) = self.kept().find(same) {
            return Admission::Duplicate(Offset(kept.base_offset));
        }
        // How many sequences the batch begins before the next one, and how many the kept ones and
        // all that were seen reach back.
        let behind =
            (i64::from(self.expected()) - i64::from(batch.base_sequence)).rem_euclid(SEQUENCES);
        let kept: i64 = self.kept().map(|kept| i64::from(kept.record_count)).sum();
        let end_behind = behind - i64::from(batch.record_count);
        if behind <= i64::from(self.seen) && end_behind >= kept {
            return Admission::DuplicateForgotten;
        }
        Admission::OutOfOrder
    }

    /// The broken twin: what lies behind is taken as new.
    fn accepts_stale(&self, batch: &KeptBatch) -> bool {
        let behind =
            (i64::from(self.expected()) - i64::from(batch.base_sequence)).rem_euclid(SEQUENCES);
        twins::is_on(Twin::StaleSequenceAccepted) && behind <= i64::from(self.seen)
    }
}

impl Encoded for Producer {
    const BYTES_MIN: usize = KeptBatch::BYTES_MIN + 8 + 4 + 2 + 4;

    fn encode(&self, to: &mut Writer) {
        to.put(&self.last);
        to.put(&self.last_active);
        to.put(&self.seen);
        to.put(&self.epoch);
        let older: Vec<KeptBatch> = self.kept().skip(1).copied().collect();
        to.put(&older);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (last, last_active) = (from.take()?, from.take()?);
        let (seen, epoch) = (from.take()?, from.take()?);
        let older: Vec<KeptBatch> = from.take()?;
        if older.len() > OLDER_MAX {
            return Err(from.error("producer", "keeps too many batches"));
        }
        let mut boxed = (!older.is_empty()).then(Box::<[KeptBatch; OLDER_MAX]>::default);
        for (slot, batch) in boxed.iter_mut().flat_map(|boxed| boxed.iter_mut()).zip(&older) {
            *slot = *batch;
        }
        let older_count = older.len() as u8;
        Ok(Self { last, older: boxed, last_active, seen, epoch, older_count, dirty: false })
    }
}
