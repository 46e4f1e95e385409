//! `FoldExtents`: runs of extents become one entry each, by compare-and-swap.
//!
//! What is compared is recomputed from the state: the number of extents, their offsets, their file
//! and their digest. Extents that are gone from the front because the log start passed them do not
//! refuse a run (the log start hides what the index object still lists); then the rest must still
//! be extents of that file, which were never anything else: an offset is given out once.

use tidemill_base::digest::ExtentDigest;
use tidemill_base::twins::{self, Twin};
use tidemill_base::{LaneId, Location, Offset, TimestampMs};

use super::Change;
use super::commit_object::limit;
use crate::command::{FoldExtents, FoldRun, SEQUENCE_END};
use crate::entry::{Entry, Folded};
use crate::event::Event;
use crate::outcome::{FoldOutcome, Outcome};
use crate::packed::Packed;
use crate::refusal::Refusal;
use crate::slots::Slot;
use crate::state::MetadataState;

impl MetadataState {
    pub(super) fn fold_extents(
        &mut self,
        command: &FoldExtents,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        self.check_index(command)?;
        let index = command.location;
        let slot = self.files.intern(index.file, u64::from(index.length), true);
        let outcomes =
            command.runs.iter().map(|run| self.fold_run(command, run, slot, change)).collect();
        // An index object of which nothing was accepted is garbage.
        self.files.free_if_unreachable(slot, change.freed, &mut change.events);
        Ok(Outcome::Folds(outcomes))
    }

    /// Checks that the index object may be referred to: named in its writer's object lane, above
    /// the floor, and not garbage.
    fn check_index(&self, command: &FoldExtents) -> Result<(), Refusal> {
        let (id, location) = (&command.index, &command.location);
        if id.incarnation != self.cluster.incarnation {
            return Err(Refusal::OtherIncarnation);
        }
        let file = location.file;
        let named = file.incarnation == id.incarnation
            && file.lane == id.lane
            && file.sequence == id.sequence.0
            && !file.is_append_file();
        let placed = location.position == 0 && id.sequence.0 < SEQUENCE_END;
        if id.lane.lane != LaneId::OBJECTS || !named || !placed {
            return Err(Refusal::Malformed(
                "an index object is an object of its writer's object lane",
            ));
        }
        if !self.brokers.is_live(id.lane.broker, id.lane.epoch) {
            return Err(Refusal::BrokerFenced);
        }
        let floor = self.lanes.0.get(&id.lane).map_or(0, |lane| lane.floor.0);
        if id.sequence.0 <= floor && !twins::is_on(Twin::FloorIgnored) {
            return Err(Refusal::Condemned);
        }
        match self.files.slots.find(&file).and_then(|slot| self.files.slots.get(slot)) {
            Some((_, known)) if known.freed.is_some() => Err(Refusal::Condemned),
            Some((_, known)) if known.length != u64::from(location.length) => {
                Err(Refusal::OtherLocation)
            }
            Some(_) => Ok(()),
            None => {
                let files = self.files.slots.len() as u64 + 1;
                limit("files", files, self.cluster.limits.files_max.into())
            }
        }
    }

    fn fold_run(
        &mut self,
        command: &FoldExtents,
        run: &FoldRun,
        index: Slot,
        change: &mut Change,
    ) -> FoldOutcome {
        let Some(partition) = self.partitions.get(&run.partition) else {
            return FoldOutcome::Gone;
        };
        if run.end_offset <= partition.log.log_start {
            return FoldOutcome::Gone;
        }
        let unchecked = twins::is_on(Twin::FoldWithoutCompare);
        let end = if unchecked { i64::MAX } else { run.end_offset.0 };
        let old: Vec<Packed> = partition
            .log
            .entries
            .iter_from(run.first_offset.0)
            .take_while(|item| item.base_offset < end)
            .copied()
            .collect();
        let Some(folded) = self.compare(command, run, &old, partition.log.log_start) else {
            return FoldOutcome::Changed;
        };
        let Some(file) = self.files.slots.find(&folded.file) else {
            return FoldOutcome::Changed;
        };
        let item = Packed::folded(&folded, file, index);
        self.files.refer(&item);
        if let Some(partition) = self.partitions.get_mut(&run.partition) {
            let dropped = partition.log.fold(item);
            self.changed.chunks(run.partition, dropped);
            self.changed.partition(run.partition, partition);
        }
        for item in &old {
            self.files.release(item, change.freed, &mut change.events);
        }
        change.events.push(Event::RunFolded { partition: run.partition, folded });
        FoldOutcome::Folded
    }

    /// The entry that takes the place of `old`, if they are what the command means.
    fn compare(
        &self,
        command: &FoldExtents,
        run: &FoldRun,
        old: &[Packed],
        log_start: Offset,
    ) -> Option<Folded> {
        if twins::is_on(Twin::FoldWithoutCompare) {
            return unchecked(command, old);
        }
        let (first, last) = (old.first()?, old.last()?);
        let from_front = first.base_offset > run.first_offset.0;
        let in_front_gone = from_front && first.base_offset <= log_start.0;
        if (from_front && !in_front_gone)
            || first.base_offset < run.first_offset.0
            || last.end() != run.end_offset.0
        {
            return None;
        }
        let mut digest = ExtentDigest::EMPTY;
        let mut length = 0u32;
        for item in old {
            let Some(Entry::Extent(extent)) = self.unpack(item) else { return None };
            if extent.file != command.file {
                return None;
            }
            digest = digest.then(&extent.facts());
            length = length.checked_add(extent.length)?;
        }
        let exact = old.len() == run.entries as usize && digest == run.digest;
        let rest = in_front_gone && old.len() < run.entries as usize;
        if !exact && !rest {
            return None;
        }
        folded(command, first.base_offset, last.end(), old, length)
    }
}

fn folded(
    command: &FoldExtents,
    first: i64,
    end: i64,
    old: &[Packed],
    length: u32,
) -> Option<Folded> {
    let Location { file, .. } = command.location;
    Some(Folded {
        file: command.file,
        index: Location { file, position: 0, length: command.location.length },
        base_offset: Offset(first),
        record_count: u32::try_from(end - first).ok()?,
        length,
        extents: old.len() as u32,
        max_timestamp: TimestampMs(old.iter().map(|item| item.max_timestamp).max()?),
    })
}

/// The broken twin: whatever stands from the run's first offset on is taken for what the index
/// object lists, appended since or not.
fn unchecked(command: &FoldExtents, old: &[Packed]) -> Option<Folded> {
    let (first, last) = (old.first()?, old.last()?);
    let length = old.iter().try_fold(0u32, |sum, item| sum.checked_add(item.length))?;
    folded(command, first.base_offset, last.end(), old, length)
}
