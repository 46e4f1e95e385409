//! The record with the largest timestamp, best claim first.
//!
//! An entry and an extent claim a largest timestamp, which is an upper bound: the record may lie
//! below the log start, or the producer may have written a larger one into the header of its batch
//! than its records have. So what claims most is looked into first, and the search ends when nothing
//! left claims more than the best record found.

use std::cmp::Reverse;

use tidemill_base::{Offset, PartitionId, TimestampMs};
use tidemill_kafka::ErrorCode;
use tidemill_metadata_state::{Entry, Extent, PartitionView};
use tidemill_records::{
    Batch, DecompressLimits, Decompressor, Records, RecordsError, TimestampType, find_max_timestamp,
};

use super::batches::Batches;
use super::unpacked::search_records;
use super::{Found, extents, log_start};
use crate::broker::Broker;

/// Steps taken for one question: ranges split, index objects and extents read. Most questions need
/// two or three; more only if producers wrote headers that their records do not bear out. Then the
/// best record of these steps is the answer.
const STEPS_MAX: usize = 64;

/// Something that may hold the record.
enum Candidate {
    /// The entries that reach above `from` and begin below `to`: none claims more than `at_most`.
    Range { from: Offset, to: Offset, at_most: TimestampMs },
    /// One entry, or an extent of a folded one.
    Entry(Entry),
}

impl Candidate {
    /// The largest timestamp that it may hold.
    fn claim(&self) -> TimestampMs {
        match self {
            Self::Range { at_most, .. } => *at_most,
            Self::Entry(entry) => entry.max_timestamp(),
        }
    }

    /// The lowest offset that it may hold.
    fn from(&self) -> Offset {
        match self {
            Self::Range { from, .. } => *from,
            Self::Entry(entry) => entry.base_offset(),
        }
    }

    /// The larger claim is greater; of equal ones, that which begins first.
    fn order(&self) -> (TimestampMs, Reverse<Offset>) {
        (self.claim(), Reverse(self.from()))
    }
}

/// The first record that has the largest timestamp of those at or above the log start.
pub(crate) async fn latest_timestamp(
    broker: &Broker,
    partition: PartitionId,
) -> Result<Option<Found>, ErrorCode> {
    let log_start = log_start(broker, partition)?;
    let mut best: Option<Found> = None;
    let at_most = TimestampMs(i64::MAX);
    let mut candidates = vec![Candidate::Range { from: log_start, to: Offset(i64::MAX), at_most }];
    for _ in 0..STEPS_MAX {
        match take_best(&mut candidates, best) {
            None => break,
            Some(Candidate::Range { from, to, at_most }) => {
                candidates.extend(split(broker, partition, (from, to), at_most)?);
            }
            Some(Candidate::Entry(Entry::Extent(extent))) => {
                look_into(broker, &extent, log_start, &mut best).await?;
            }
            Some(Candidate::Entry(folded)) => {
                let extents = extents(broker, partition, &folded).await?.into_iter();
                let entries = extents.map(Entry::Extent);
                let kept = entries.filter(|entry| entry.end_offset() > log_start);
                candidates.extend(kept.map(Candidate::Entry));
            }
        }
    }
    Ok(best)
}

/// Takes what claims most; `None` if nothing claims more than the best found, nor as much before it.
fn take_best(candidates: &mut Vec<Candidate>, best: Option<Found>) -> Option<Candidate> {
    let (at, first) =
        candidates.iter().enumerate().max_by_key(|(_, candidate)| candidate.order())?;
    let is_beaten =
        best.is_some_and(|(offset, timestamp)| (timestamp, Reverse(offset)) >= first.order());
    (!is_beaten).then(|| candidates.swap_remove(at))
}

/// The entry of a range that claims most, and the ranges before and after it.
fn split(
    broker: &Broker,
    partition: PartitionId,
    (from, to): (Offset, Offset),
    at_most: TimestampMs,
) -> Result<Vec<Candidate>, ErrorCode> {
    let projection = broker.view.projection();
    let view = projection.partition(partition).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let Some(entry) = claiming_most(&view, (from, to), at_most) else { return Ok(Vec::new()) };
    let claim = entry.max_timestamp();
    let mut parts = vec![Candidate::Entry(entry)];
    // The entry is the first to claim so much: those before it claim less.
    if from < entry.base_offset() {
        let at_most = TimestampMs(claim.0.saturating_sub(1));
        parts.push(Candidate::Range { from, to: entry.base_offset(), at_most });
    }
    if entry.end_offset() < to {
        parts.push(Candidate::Range { from: entry.end_offset(), to, at_most: claim });
    }
    Ok(parts)
}

/// The first of the entries that claim most. Halves the times between one that an entry reaches and
/// one that none does: at most 64 looks at the index.
fn claiming_most(
    view: &PartitionView<'_>,
    (from, to): (Offset, Offset),
    at_most: TimestampMs,
) -> Option<Entry> {
    let reaching = |timestamp| {
        let entry = view.entry_reaching(TimestampMs(timestamp), from)?;
        (entry.base_offset() < to).then_some(entry)
    };
    let at_most = at_most.min(view.max_timestamp()?).0;
    let mut most = reaching(at_most).or_else(|| reaching(i64::MIN))?;
    let mut unreached = at_most;
    while most.max_timestamp().0.saturating_add(1) < unreached {
        let between = i64::midpoint(most.max_timestamp().0, unreached);
        match reaching(between) {
            Some(entry) => most = entry,
            None => unreached = between,
        }
    }
    Some(most)
}

async fn look_into(
    broker: &Broker,
    extent: &Extent,
    log_start: Offset,
    best: &mut Option<Found>,
) -> Result<(), ErrorCode> {
    let is_better =
        |found: Found, best: Found| found.1 > best.1 || (found.1 == best.1 && found.0 < best.0);
    for batch in Batches::read(broker, extent).await? {
        let (batch, base) = batch?;
        if let Some(found) = largest_in_batch(broker, batch, base, log_start).await?
            && best.is_none_or(|best| is_better(found, best))
        {
            *best = Some(found);
        }
    }
    Ok(())
}

async fn largest_in_batch(
    broker: &Broker,
    batch: Batch,
    base: Offset,
    log_start: Offset,
) -> Result<Option<Found>, ErrorCode> {
    let header = batch.header();
    let end = base.plus(header.offsets_taken());
    if end <= log_start {
        return Ok(None);
    }
    if header.attributes.timestamp_type() == TimestampType::LogAppendTime {
        return Ok(Some((base.max(log_start), header.max_timestamp)));
    }
    search_records(broker, batch, move |batch, decompressor, limits| {
        largest_in_records(batch, base, log_start, decompressor, limits)
    })
    .await
}

fn largest_in_records(
    batch: &Batch,
    base: Offset,
    log_start: Offset,
    decompressor: &mut Decompressor,
    limits: &DecompressLimits,
) -> Result<Option<Found>, RecordsError> {
    let view = batch.view();
    if base >= log_start {
        let found = find_max_timestamp(&view, decompressor, limits)?;
        return Ok(found.map(|found| (base.plus(found.offset_delta), found.timestamp)));
    }
    let mut largest: Option<Found> = None;
    for record in Records::open(view, decompressor, limits)?.iter() {
        let record = record?;
        let offset = Offset(base.0 + i64::from(record.offset_delta));
        if offset >= log_start && largest.is_none_or(|(_, time)| record.timestamp > time) {
            largest = Some((offset, record.timestamp));
        }
    }
    Ok(largest)
}
