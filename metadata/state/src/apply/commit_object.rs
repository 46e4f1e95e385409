//! `CommitObject`: one log object becomes part of the log.
//!
//! The checks of the lane come in this order: a recorded outcome, the floor, the sequence. Then
//! each batch is judged on its own. Adjacent accepted batches of one partition become one extent;
//! a refused batch between them splits it, so that readers never see outcomes.

use std::sync::Arc;

use tidemill_base::twins::{self, Twin};
use tidemill_base::{
    BatchFacts, BatchOutcome, LaneSequence, Location, Offset, PartitionId, ProducerFacts,
    ProducerId, TimestampMs,
};

use super::Change;
use crate::command::CommitObject;
use crate::entry::Extent;
use crate::event::Event;
use crate::lanes::{Lane, Recorded};
use crate::outcome::Outcome;
use crate::packed::Packed;
use crate::partition::Partition;
use crate::producers::Admission;
use crate::refusal::Refusal;
use crate::state::MetadataState;

/// The commit under way: what stays the same for all batches, and what they add up to.
struct Commit<'a> {
    location: &'a Location,
    now: TimestampMs,
    producer_floor: i64,
    /// Producer ids from here on were never given out.
    next_producer: i64,
    /// How many producers may still be added.
    producer_room: u64,
    producers_added: u64,
    /// Producers whose entries changed for the first time since they were saved.
    producers_changed: Vec<(PartitionId, ProducerId)>,
    outcomes: Vec<BatchOutcome>,
    extents: Vec<(PartitionId, Extent)>,
}

impl MetadataState {
    pub(super) fn commit_object(
        &mut self,
        command: &CommitObject,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        let object = &command.object;
        if object.incarnation != self.cluster.incarnation {
            return Err(Refusal::OtherIncarnation);
        }
        if !self.brokers.is_live(object.lane.broker, object.lane.epoch) {
            return Err(Refusal::BrokerFenced);
        }
        if command.skips.len() > CommitObject::SKIPS_MAX {
            return Err(Refusal::Malformed("more skips than one command may name"));
        }
        let new_lane = Lane::default();
        let known = self.lanes.0.get(&object.lane);
        match judge_sequence(known.unwrap_or(&new_lane), command)? {
            Turn::Next => {}
            Turn::Recorded(outcomes) => return Ok(Outcome::Object(outcomes)),
            Turn::Gap(expected) => return Ok(Outcome::Gap { expected }),
        }
        self.check_object(command, known)?;
        self.make_producer_room(&command.batches, change.now());

        let outcomes: Arc<[BatchOutcome]> = self.append_batches(command, change).into();
        let lane = self.lanes.0.entry(object.lane).or_default();
        lane.last = lane.last.max(object.sequence);
        let pruned = lane.prune(command.outcomes_received_up_to);
        let recorded = Recorded {
            sequence: object.sequence,
            location: command.location,
            outcomes: outcomes.clone(),
            saved: false,
        };
        lane.record(recorded);
        self.changed.outcomes.extend(pruned.into_iter().map(|gone| (object.lane, gone)));
        self.changed.lanes.insert(object.lane);
        Ok(Outcome::Object(outcomes))
    }

    /// Checks what the command says of the object itself, and that there is room.
    fn check_object(&self, command: &CommitObject, lane: Option<&Lane>) -> Result<(), Refusal> {
        let (object, location) = (&command.object, &command.location);
        let file = location.file;
        let named = if file.is_append_file() {
            file.sequence == 0
        } else {
            file.sequence == object.sequence.0 && location.position == 0
        };
        if file.incarnation != object.incarnation || file.lane != object.lane || !named {
            return Err(Refusal::Malformed("the location is not one of the object's lane"));
        }
        if location.position.checked_add(u64::from(location.length)).is_none() {
            return Err(Refusal::Malformed("the location ends beyond any file"));
        }
        check_batches(&command.batches, location.length)?;
        let kept = lane.map_or(0, |lane| lane.kept_beyond(command.outcomes_received_up_to)) as u64;
        let file_floor = lane.map_or(0, |lane| lane.file_floor.0);
        let limits = &self.cluster.limits;
        match self.files.slots.find(&file).and_then(|slot| self.files.slots.get(slot)) {
            Some((_, known)) if known.sealed => return Err(Refusal::FileSealed),
            None if file.is_append_file() && file.number.0 <= file_floor => {
                return Err(Refusal::FileSealed);
            }
            Some(_) => {}
            None => limit("files", self.files.slots.len() as u64 + 1, limits.files_max.into())?,
        }
        if kept >= u64::from(limits.commits_in_flight_max) {
            return Err(Refusal::TooManyInFlight);
        }
        let lanes = self.lanes.0.len() as u64 + u64::from(lane.is_none());
        limit("lanes", lanes, limits.lanes_max.into())?;
        let entries = self.files.entries + command.batches.len() as u64;
        limit("log entries", entries, limits.log_entries_max)
    }

    fn append_batches(&mut self, command: &CommitObject, change: &mut Change) -> Vec<BatchOutcome> {
        let location = &command.location;
        let end = location.position + u64::from(location.length);
        let append_file = location.file.is_append_file();
        let file = self.files.intern(location.file, 0, !append_file);
        if let Some(file) = self.files.slots.get_mut(file) {
            file.length = file.length.max(end);
        }
        let room = self.cluster.limits.producer_entries_max.saturating_sub(self.producer_entries);
        let mut commit = Commit {
            location,
            now: change.now(),
            producer_floor: self.cluster.producer_floor,
            next_producer: self.cluster.next_producer,
            producer_room: room,
            producers_added: 0,
            producers_changed: std::mem::take(&mut self.changed.producers),
            outcomes: Vec::with_capacity(command.batches.len()),
            extents: Vec::with_capacity(command.batches.len()),
        };
        for batches in command.batches.chunk_by(|a, b| a.partition == b.partition) {
            let id = batches[0].partition;
            let Some(partition) = self.partitions.get_mut(&id) else {
                commit.outcomes.extend(batches.iter().map(|_| BatchOutcome::PartitionGone));
                continue;
            };
            let first = commit.extents.len();
            commit.append(id, partition, batches);
            for (_, extent) in &commit.extents[first..] {
                let item = Packed::extent(extent, file);
                partition.log.append(item);
                self.files.refer(&item);
            }
            if commit.extents.len() > first {
                self.changed.partition(id, partition);
            }
        }
        self.producer_entries += commit.producers_added;
        self.changed.producers = commit.producers_changed;
        if !commit.extents.is_empty() {
            change.events.push(Event::Appended { extents: commit.extents });
        }
        self.files.free_if_unreachable(file, change.freed, &mut change.events);
        commit.outcomes
    }
}

/// Where a command stands in its lane.
enum Turn {
    Next,
    Recorded(Arc<[BatchOutcome]>),
    Gap(LaneSequence),
}

fn judge_sequence(lane: &Lane, command: &CommitObject) -> Result<Turn, Refusal> {
    let sequence = command.object.sequence;
    if let Some(recorded) = lane.recorded(sequence) {
        if twins::is_on(Twin::OutcomeForgotten) {
            return Ok(Turn::Next);
        }
        if recorded.location != command.location {
            return Err(Refusal::OtherLocation);
        }
        return Ok(Turn::Recorded(recorded.outcomes.clone()));
    }
    if sequence <= lane.floor {
        return if twins::is_on(Twin::FloorIgnored) {
            Ok(Turn::Next)
        } else {
            Err(Refusal::Condemned)
        };
    }
    let expected = lane.expected(&command.skips);
    let skipped = twins::is_on(Twin::SkippedFlushAccepted) && sequence > expected;
    if sequence != expected && !skipped {
        return Ok(Turn::Gap(expected));
    }
    Ok(Turn::Next)
}

/// Batches lie one after another within the object, each with at least one byte and one record.
fn check_batches(batches: &[BatchFacts], object_length: u32) -> Result<(), Refusal> {
    let mut end = 0;
    for batch in batches {
        if batch.position < end {
            return Err(Refusal::Malformed("batches overlap"));
        }
        end = match batch.position.checked_add(batch.length) {
            Some(end) if end <= object_length => end,
            _ => return Err(Refusal::Malformed("a batch ends beyond the object")),
        };
        if batch.length == 0 || batch.record_count == 0 || batch.record_count > i32::MAX as u32 {
            return Err(Refusal::Malformed("a batch is empty or counts too many records"));
        }
    }
    Ok(())
}

pub(super) fn limit(what: &'static str, wanted: u64, max: u64) -> Result<(), Refusal> {
    if wanted > max { Err(Refusal::Limit { what, max }) } else { Ok(()) }
}

impl Commit<'_> {
    /// Judges the batches of one partition and collects the extents of those that are accepted.
    fn append(&mut self, id: PartitionId, partition: &mut Partition, batches: &[BatchFacts]) {
        let log_start = partition.log.log_start;
        let mut next = partition.log.high_watermark;
        let mut growing: Option<Extent> = None;
        for batch in batches {
            let outcome = self.judge(id, partition, batch, next);
            let outcome = match outcome {
                Admission::New { .. } => {
                    self.grow(id, &mut growing, partition, batch, next);
                    let base_offset = next;
                    next = next.plus(batch.record_count);
                    BatchOutcome::Committed { base_offset, log_start }
                }
                Admission::Duplicate(base_offset) => {
                    BatchOutcome::Duplicate { base_offset, log_start }
                }
                Admission::DuplicateForgotten => BatchOutcome::DuplicateForgotten,
                Admission::OutOfOrder => BatchOutcome::OutOfOrder,
                Admission::Fenced => BatchOutcome::Fenced,
                Admission::Full => BatchOutcome::ProducersFull,
            };
            self.outcomes.push(outcome);
        }
        self.extents.extend(growing.map(|extent| (id, extent)));
    }

    fn judge(
        &mut self,
        id: PartitionId,
        partition: &mut Partition,
        batch: &BatchFacts,
        next: Offset,
    ) -> Admission {
        if next.0.checked_add(i64::from(batch.record_count)).is_none() {
            // No offsets are left. No partition gets here; what matters is that none wraps.
            return Admission::OutOfOrder;
        }
        let Some(producer) = &batch.producer else {
            return Admission::New { added: false };
        };
        if !self.was_given_out(producer) {
            return Admission::Fenced;
        }
        let room = self.producers_added < self.producer_room;
        let producers = &mut partition.producers;
        let admission = producers.admit(producer, batch.record_count, next, self.now, room);
        if let Admission::New { added } = admission {
            self.producers_added += u64::from(added);
            if let Some(entry) = producers.entries.get_mut(&producer.id)
                && !entry.dirty
            {
                entry.dirty = true;
                self.producers_changed.push((id, producer.id));
            }
        }
        admission
    }

    /// Whether the id was given out in this life of the cluster.
    fn was_given_out(&self, producer: &ProducerFacts) -> bool {
        let given_out = self.producer_floor..self.next_producer;
        given_out.contains(&producer.id.0) && producer.epoch.0 >= 0
    }

    /// Adds an accepted batch to the extent that grows, or begins another.
    fn grow(
        &mut self,
        id: PartitionId,
        growing: &mut Option<Extent>,
        partition: &Partition,
        batch: &BatchFacts,
        base_offset: Offset,
    ) {
        let position = self.location.position + u64::from(batch.position);
        let max_timestamp = if batch.max_timestamp.0 < 0 { self.now } else { batch.max_timestamp };
        if let Some(extent) = growing
            && extent.position + u64::from(extent.length) == position
            && let Some(record_count) = extent.record_count.checked_add(batch.record_count)
        {
            extent.length += batch.length;
            extent.record_count = record_count;
            extent.max_timestamp = extent.max_timestamp.max(max_timestamp);
            return;
        }
        let extent = Extent {
            file: self.location.file,
            position,
            length: batch.length,
            base_offset,
            record_count: batch.record_count,
            max_timestamp,
            leader_epoch: partition.log.leader_epoch,
        };
        self.extents.extend(growing.replace(extent).map(|done| (id, done)));
    }
}
