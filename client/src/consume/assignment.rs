//! The partitions that a consumer reads, and how far it is in each (pure).
//!
//! - A *position* is the offset of the next record to be polled; *fetching* runs ahead of it, up to
//!   a limit of waiting bytes.
//! - Each assignment and each seek gives a partition a new *stamp*. An answer to a question asked
//!   under an older stamp is thrown away.
//! - One fetch of a broker is on its way at a time, and it names all partitions of that broker that
//!   are read, so that none starves. It is not sent while one of them has much waiting.

use std::collections::{BTreeMap, BTreeSet};

use tidemill_base::{BrokerId, ErrorKind, Offset};
use tidemill_kafka::ErrorCode;
use tidemill_records::{Decompressor, batches};

use crate::backoff::Backoff;
use crate::cluster::metadata::Metadata;
use crate::cluster::offsets::OffsetSpec;
use crate::consume::buffer::{Buffer, Fetched};
use crate::consume::config::AutoOffsetReset;
use crate::consume::record::ConsumerRecord;
use crate::consume::trouble::Trouble;
use crate::consume::unpack::end_of;
use crate::error::{Error, Result};
use crate::prng::Prng;
use crate::topic_partition::TopicPartition;

/// Where to read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// From the offset that the group has committed, once that is looked up.
    Committed,
    /// From an offset that is still to be found.
    Find(OffsetSpec),
    /// From here.
    At(Offset),
}

/// A partition that is read.
#[derive(Debug)]
pub(crate) struct Assigned {
    stamp: u64,
    place: Place,
    is_paused: bool,
    buffer: Buffer,
    fetch_from: Offset,
    is_fetching: bool,
    failures: u32,
    retry_at_ms: u64,
    high_watermark: Option<Offset>,
    /// Since when it cannot be read, and what was met last.
    trouble: Option<(u64, Error)>,
}

/// A partition in a fetch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FetchPart {
    pub(crate) partition: TopicPartition,
    pub(crate) stamp: u64,
    pub(crate) offset: Offset,
    pub(crate) leader_epoch: i32,
}

/// What a broker answered for a partition.
#[derive(Clone, Debug)]
pub(crate) struct PartAnswer {
    pub(crate) error_code: ErrorCode,
    pub(crate) high_watermark: Option<Offset>,
    pub(crate) fetched: Fetched,
}

/// What follows of an answer.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum FetchVerdict {
    /// Nothing.
    Fine,
    /// The metadata is out of date.
    Doubt,
    /// The application must be told.
    Tell(Error),
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Assignment {
    partitions: BTreeMap<TopicPartition, Assigned>,
    stamps: u64,
    /// The partition from which records were last taken.
    cursor: Option<TopicPartition>,
}

impl Assignment {
    /// Reads exactly these; the ones that are already read go on where they are.
    pub(crate) fn set(&mut self, wanted: impl IntoIterator<Item = TopicPartition>, place: Place) {
        let wanted: BTreeSet<TopicPartition> = wanted.into_iter().collect();
        self.partitions.retain(|partition, _| wanted.contains(partition));
        for partition in wanted {
            if !self.partitions.contains_key(&partition) {
                let assigned = Assigned::new(self.stamp(), place);
                self.partitions.insert(partition, assigned);
            }
        }
    }

    fn stamp(&mut self) -> u64 {
        self.stamps += 1;
        self.stamps
    }

    /// The partitions that are read.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.partitions.keys()
    }

    /// Whether nothing is read.
    pub(crate) fn is_empty(&self) -> bool {
        self.partitions.is_empty()
    }

    /// Goes on from another place.
    ///
    /// # Errors
    /// `Invalid` if the partition is not read.
    pub(crate) fn seek(&mut self, partition: &TopicPartition, place: Place) -> Result<()> {
        let stamp = self.stamp();
        let assigned = self.get_mut(partition)?;
        let is_paused = assigned.is_paused;
        *assigned = Assigned { is_paused, ..Assigned::new(stamp, place) };
        Ok(())
    }

    /// Stops or resumes answering records of a partition.
    ///
    /// # Errors
    /// `Invalid` if the partition is not read.
    pub(crate) fn pause(&mut self, partition: &TopicPartition, is_paused: bool) -> Result<()> {
        self.get_mut(partition)?.is_paused = is_paused;
        Ok(())
    }

    fn get_mut(&mut self, partition: &TopicPartition) -> Result<&mut Assigned> {
        self.partitions.get_mut(partition).ok_or_else(|| {
            let message = format!("{partition} is not assigned to this consumer");
            Error::new(ErrorKind::Invalid, message)
        })
    }

    /// The position in a partition, if it is known yet.
    pub(crate) fn position(&self, partition: &TopicPartition) -> Option<Offset> {
        match self.partitions.get(partition)?.place {
            Place::At(offset) => Some(offset),
            Place::Committed | Place::Find(_) => None,
        }
    }

    /// All positions that are known.
    pub(crate) fn positions(&self) -> BTreeMap<TopicPartition, Offset> {
        let positions = self
            .partitions
            .keys()
            .filter_map(|partition| Some((partition.clone(), self.position(partition)?)));
        positions.collect()
    }

    /// The high watermark last told with records, if any.
    pub(crate) fn high_watermark(&self, partition: &TopicPartition) -> Option<Offset> {
        self.partitions.get(partition)?.high_watermark
    }

    /// The partitions whose committed offset is wanted, with the stamp to look it up under.
    pub(crate) fn wanting_committed(&self) -> Vec<(TopicPartition, u64)> {
        let wanting = self.partitions.iter().filter(|(_, one)| one.place == Place::Committed);
        wanting.map(|(partition, one)| (partition.clone(), one.stamp)).collect()
    }

    /// The partitions whose offset is to be found, with the stamp to find it under.
    pub(crate) fn wanting_offset(&self) -> BTreeMap<TopicPartition, (OffsetSpec, u64)> {
        let wanting = self.partitions.iter().filter_map(|(partition, one)| match one.place {
            Place::Find(spec) => Some((partition.clone(), (spec, one.stamp))),
            Place::Committed | Place::At(_) => None,
        });
        wanting.collect()
    }

    /// Places a partition that still has this stamp.
    pub(crate) fn found(&mut self, partition: &TopicPartition, stamp: u64, place: Place) {
        if let Some(assigned) = self.partitions.get_mut(partition)
            && assigned.stamp == stamp
        {
            assigned.place = place;
            assigned.trouble = None;
            if let Place::At(offset) = place {
                assigned.fetch_from = offset;
            }
        }
    }

    /// The offset of a partition that still has this stamp could not be found.
    pub(crate) fn not_found(
        &mut self,
        partition: &TopicPartition,
        stamp: u64,
        now_ms: u64,
        error: Error,
    ) {
        if let Some(assigned) = self.partitions.get_mut(partition)
            && assigned.stamp == stamp
        {
            assigned.meets(now_ms, error);
        }
    }

    /// The partitions that cannot be read though that may pass by itself.
    pub(crate) fn troubles(&self, now_ms: u64) -> Vec<Trouble> {
        let trouble = |(partition, assigned): (&TopicPartition, &Assigned)| {
            let (since_ms, error) = assigned.trouble.clone()?;
            let lasts_ms = now_ms.saturating_sub(since_ms);
            Some(Trouble { partition: partition.clone(), lasts_ms, error })
        };
        self.partitions.iter().filter_map(trouble).collect()
    }

    /// The stamp of a partition, if it is read.
    #[cfg(test)]
    fn stamp_of(&self, partition: &TopicPartition) -> Option<u64> {
        self.partitions.get(partition).map(|assigned| assigned.stamp)
    }

    /// Takes up to `count` records, partition after partition, beginning behind the one that was
    /// last.
    ///
    /// # Errors
    /// Those of [`Buffer::take`], when no record was taken before.
    pub(crate) fn take(
        &mut self,
        count: usize,
        verify_checksums: bool,
        decompressor: &mut Decompressor,
    ) -> Result<Vec<ConsumerRecord>> {
        let mut order: Vec<TopicPartition> = self
            .partitions
            .iter()
            .filter(|(_, one)| !one.is_paused && !one.buffer.is_empty())
            .map(|(partition, _)| partition.clone())
            .collect();
        if let Some(cursor) = &self.cursor {
            let first = order.partition_point(|partition| partition <= cursor);
            order.rotate_left(first);
        }
        let mut taken = Vec::new();
        for partition in order {
            let stamp = self.stamp();
            let Some(assigned) = self.partitions.get_mut(&partition) else { continue };
            let Place::At(position) = &mut assigned.place else { continue };
            let left = count - taken.len();
            let buffer = &mut assigned.buffer;
            let more = buffer.take(&partition, left, position, verify_checksums, decompressor);
            match more {
                Ok(more) => taken.extend(more),
                Err(error) => {
                    // It is fetched again; what is on its way goes on behind it and is thrown away.
                    let place = Place::At(*position);
                    *assigned = Assigned::new(stamp, place);
                    if taken.is_empty() {
                        return Err(error);
                    }
                    return Ok(taken);
                }
            }
            self.cursor = Some(partition);
            if taken.len() == count {
                break;
            }
        }
        Ok(taken)
    }

    /// The fetches to be sent now, by broker, to brokers that are not `busy`; they count as sent.
    pub(crate) fn plan_fetches(
        &mut self,
        now_ms: u64,
        metadata: &Metadata,
        busy: &BTreeSet<BrokerId>,
        waiting_bytes_max: usize,
    ) -> BTreeMap<BrokerId, Vec<FetchPart>> {
        let mut fetches: BTreeMap<BrokerId, Vec<FetchPart>> = BTreeMap::new();
        let mut full: BTreeSet<BrokerId> = busy.clone();
        for (partition, assigned) in &self.partitions {
            let Some(leader) = metadata.leader(partition) else { continue };
            if assigned.is_paused || !matches!(assigned.place, Place::At(_)) {
                continue;
            }
            if assigned.buffer.packed_bytes() >= waiting_bytes_max {
                full.insert(leader);
            }
            if assigned.is_fetching || assigned.retry_at_ms > now_ms {
                continue;
            }
            let epoch = metadata.partition(partition).and_then(|known| known.leader_epoch);
            fetches.entry(leader).or_default().push(FetchPart {
                partition: partition.clone(),
                stamp: assigned.stamp,
                offset: assigned.fetch_from,
                leader_epoch: epoch.map_or(-1, |epoch| epoch.0),
            });
        }
        fetches.retain(|broker, _| !full.contains(broker));
        for part in fetches.values().flatten() {
            if let Some(assigned) = self.partitions.get_mut(&part.partition) {
                assigned.is_fetching = true;
            }
        }
        fetches
    }

    /// Whether a partition that could be fetched has no leader.
    pub(crate) fn has_leaderless(&self, metadata: &Metadata) -> bool {
        self.partitions.keys().any(|partition| metadata.leader(partition).is_none())
    }

    /// When a partition that failed may be fetched again, if one waits.
    pub(crate) fn wake_at_ms(&self, now_ms: u64) -> Option<u64> {
        let waiting = self.partitions.values().map(|assigned| assigned.retry_at_ms);
        waiting.filter(|at_ms| *at_ms > now_ms).min()
    }

    /// A fetch failed as a whole.
    pub(crate) fn fetch_failed(
        &mut self,
        parts: &[FetchPart],
        error: &Error,
        now_ms: u64,
        backoff: Backoff,
        prng: &mut Prng,
    ) {
        for part in parts {
            if let Some(assigned) = self.current(part) {
                assigned.back_off(now_ms, backoff, prng);
                assigned.meets(now_ms, error.clone());
            }
        }
    }

    /// A partition's answer came.
    pub(crate) fn fetch_answered(
        &mut self,
        part: &FetchPart,
        answer: PartAnswer,
        reset: AutoOffsetReset,
        now_ms: u64,
        backoff: Backoff,
        prng: &mut Prng,
    ) -> FetchVerdict {
        let Some(assigned) = self.current(part) else { return FetchVerdict::Fine };
        let what = || format!("fetch {} at offset {}", part.partition, part.offset);
        match answer.error_code {
            ErrorCode::NONE => {
                assigned.is_fetching = false;
                assigned.failures = 0;
                assigned.trouble = None;
                assigned.high_watermark = answer.high_watermark;
                assigned.receive(answer.fetched);
                FetchVerdict::Fine
            }
            ErrorCode::OFFSET_OUT_OF_RANGE => {
                assigned.back_off(now_ms, backoff, prng);
                if !assigned.buffer.is_empty() {
                    // What is there is polled first.
                    return FetchVerdict::Fine;
                }
                match reset.spec() {
                    Some(spec) => {
                        let position = part.offset.0;
                        tracing::warn!(partition = %part.partition, position, ?spec, "offset out of range");
                        assigned.place = Place::Find(spec);
                        assigned.retry_at_ms = 0;
                        FetchVerdict::Fine
                    }
                    None => FetchVerdict::Tell(
                        Error::answered(what(), answer.error_code)
                            .with_kind(ErrorKind::NotFound, "seek, or set auto_offset_reset"),
                    ),
                }
            }
            code if code.is_retriable() || code.kind() == Some(ErrorKind::Retry) => {
                assigned.back_off(now_ms, backoff, prng);
                assigned.meets(now_ms, Error::answered(what(), code));
                FetchVerdict::Doubt
            }
            code => {
                assigned.back_off(now_ms, backoff, prng);
                FetchVerdict::Tell(Error::answered(what(), code))
            }
        }
    }

    /// The partition that a part was asked for, unless it was moved since.
    fn current(&mut self, part: &FetchPart) -> Option<&mut Assigned> {
        let assigned = self.partitions.get_mut(&part.partition)?;
        (assigned.stamp == part.stamp).then_some(assigned)
    }
}

impl Assigned {
    fn new(stamp: u64, place: Place) -> Self {
        let fetch_from = match place {
            Place::At(offset) => offset,
            Place::Committed | Place::Find(_) => Offset(0),
        };
        Self {
            stamp,
            place,
            is_paused: false,
            buffer: Buffer::default(),
            fetch_from,
            is_fetching: false,
            failures: 0,
            retry_at_ms: 0,
            high_watermark: None,
            trouble: None,
        }
    }

    fn back_off(&mut self, now_ms: u64, backoff: Backoff, prng: &mut Prng) {
        self.is_fetching = false;
        self.failures += 1;
        self.retry_at_ms = now_ms + backoff.wait_ms(self.failures, prng);
    }

    /// It could not be read, for now.
    fn meets(&mut self, now_ms: u64, error: Error) {
        let since_ms = self.trouble.as_ref().map_or(now_ms, |(since_ms, _)| *since_ms);
        self.trouble = Some((since_ms, error));
    }

    /// Takes bytes over, and goes on fetching behind the last whole batch of them.
    fn receive(&mut self, fetched: Fetched) {
        let last = batches(&fetched.bytes).map_while(Result::ok).last();
        if let Some(last) = last {
            self.fetch_from = end_of(&last).max(self.fetch_from);
            self.buffer.push(fetched);
        } else if !fetched.bytes.is_empty() {
            // Not one whole batch: unpacking says what is wrong with it.
            self.buffer.push(fetched);
        }
    }
}

impl AutoOffsetReset {
    /// Where to begin, if anywhere.
    pub(crate) fn spec(self) -> Option<OffsetSpec> {
        match self {
            Self::Earliest => Some(OffsetSpec::Earliest),
            Self::Latest => Some(OffsetSpec::Latest),
            Self::None => None,
        }
    }
}

#[cfg(test)]
mod assignment_test;
