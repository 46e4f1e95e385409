//! The model: every accepted batch, every producer's history, in the plainest form.

use std::collections::BTreeMap;

use tidemill_base::{BatchFacts, BatchOutcome, FileId, Offset, PartitionId, TimestampMs};

use crate::command::{CommitObject, FoldRun};
use crate::entry::Entry;
use crate::harness::BATCH_BYTES;
use crate::state::MetadataState;

const DAY_MS: i64 = 24 * 3_600_000;

#[derive(Default)]
pub(super) struct Model {
    partitions: BTreeMap<PartitionId, Partition>,
}

#[derive(Default)]
struct Partition {
    log_start: i64,
    end: i64,
    batches: Vec<Stored>,
    producers: BTreeMap<i64, Producer>,
    highest_forgotten: i64,
}

struct Stored {
    base: i64,
    records: u32,
    file: FileId,
    position: u64,
}

struct Producer {
    epoch: i16,
    /// (sequence, records, offset) of every batch of the epoch.
    history: Vec<(i32, u32, i64)>,
    last_active: i64,
}

impl Producer {
    fn next(&self) -> i32 {
        self.history.last().map_or(0, |(sequence, records, _)| sequence + *records as i32)
    }
}

impl Model {
    pub(super) fn create(&mut self, ids: &[PartitionId]) {
        for id in ids {
            let partition = Partition { highest_forgotten: -1, ..Partition::default() };
            self.partitions.insert(*id, partition);
        }
    }

    pub(super) fn delete(&mut self, ids: &[PartitionId]) {
        for id in ids {
            self.partitions.remove(id);
        }
    }

    pub(super) fn advance(&mut self, id: PartitionId, to: i64) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.log_start = partition.log_start.max(to);
        }
    }

    /// The epoch and next sequence of a producer.
    pub(super) fn next_of(&self, id: PartitionId, producer: i64) -> (i16, i32) {
        let partition = self.partitions.get(&id);
        partition
            .and_then(|partition| partition.producers.get(&producer))
            .map_or((0, 0), |producer| (producer.epoch, producer.next()))
    }

    pub(super) fn commit(&mut self, object: &CommitObject, now: TimestampMs) -> Vec<BatchOutcome> {
        let location = &object.location;
        let store = |batch: &BatchFacts| {
            let Some(partition) = self.partitions.get_mut(&batch.partition) else {
                return BatchOutcome::PartitionGone;
            };
            let outcome = partition.judge(batch, now.0);
            if matches!(outcome, BatchOutcome::Committed { .. }) {
                partition.batches.push(Stored {
                    base: partition.end,
                    records: batch.record_count,
                    file: location.file,
                    position: location.position + u64::from(batch.position),
                });
                partition.end += i64::from(batch.record_count);
            }
            outcome
        };
        object.batches.iter().map(store).collect()
    }

    pub(super) fn expire(&mut self, now: TimestampMs) {
        for partition in self.partitions.values_mut() {
            let forgotten = &mut partition.highest_forgotten;
            partition.producers.retain(|id, producer| {
                let stays = now.0 - producer.last_active < DAY_MS;
                if !stays {
                    *forgotten = (*forgotten).max(*id);
                }
                stays
            });
        }
    }

    pub(super) fn is_below_log_start(&self, run: &FoldRun) -> bool {
        self.partitions
            .get(&run.partition)
            .is_none_or(|partition| run.end_offset.0 <= partition.log_start)
    }

    /// No batch that can still be read lies in these files.
    pub(super) fn check_unused(&self, files: &[FileId]) {
        for partition in self.partitions.values() {
            for batch in partition.readable() {
                assert!(!files.contains(&batch.file), "a readable batch is called garbage");
            }
        }
    }

    /// The state shows exactly the batches that the model keeps.
    pub(super) fn check(&self, state: &MetadataState) {
        let mut waiting = 0;
        for (id, partition) in &self.partitions {
            let image = state.partition(*id).expect("the partition exists");
            assert_eq!(image.log_start, Offset(partition.log_start));
            assert_eq!(image.high_watermark, Offset(partition.end));
            let entries = &image.entries;
            assert!(entries.windows(2).all(|pair| pair[0].end_offset() == pair[1].base_offset()));
            assert_eq!(
                entries.last().map_or(image.high_watermark, Entry::end_offset).0,
                partition.end
            );
            waiting += entries.iter().filter(|entry| is_to_be_folded(entry)).count();
            for batch in partition.readable() {
                let holder = entries.iter().find(|entry| entry.end_offset().0 > batch.base);
                batch.check(holder.expect("every readable offset has an entry"));
                let file = state.file(&batch.file).expect("the file of a readable batch is known");
                assert_eq!(file.freed, None);
            }
            assert!(entries.first().is_none_or(|first| first.end_offset() > image.log_start));
        }
        assert_eq!(state.extents_waiting(), waiting as u64);
    }
}

/// Whether it is an extent of an append file: others are never folded.
fn is_to_be_folded(entry: &Entry) -> bool {
    matches!(entry, Entry::Extent(extent) if extent.file.is_append_file())
}

impl Stored {
    fn check(&self, entry: &Entry) {
        assert!(entry.base_offset().0 <= self.base);
        assert!(entry.end_offset().0 >= self.base + i64::from(self.records));
        assert_eq!(entry.file(), self.file);
        if let Entry::Extent(extent) = entry {
            let end = extent.position + u64::from(extent.length);
            assert!(extent.position <= self.position);
            assert!(self.position + u64::from(BATCH_BYTES) <= end);
        }
    }
}

impl Partition {
    fn readable(&self) -> impl Iterator<Item = &Stored> {
        self.batches.iter().filter(|batch| batch.base + i64::from(batch.records) > self.log_start)
    }

    fn judge(&mut self, batch: &BatchFacts, now: i64) -> BatchOutcome {
        let log_start = Offset(self.log_start);
        let committed = BatchOutcome::Committed { base_offset: Offset(self.end), log_start };
        let Some(facts) = batch.producer else { return committed };
        let (id, sequence) = (facts.id.0, facts.base_sequence.0);
        let stored = (sequence, batch.record_count, self.end);
        let may_begin = sequence == 0 || id <= self.highest_forgotten;
        let known = self.producers.get_mut(&id).filter(|known| known.epoch >= facts.epoch.0);
        let Some(known) = known else {
            if !may_begin {
                return BatchOutcome::OutOfOrder;
            }
            let (epoch, history) = (facts.epoch.0, vec![stored]);
            self.producers.insert(id, Producer { epoch, history, last_active: now });
            return committed;
        };
        if known.epoch > facts.epoch.0 {
            return BatchOutcome::Fenced;
        }
        if sequence == known.next() {
            known.history.push(stored);
            known.last_active = now;
            return committed;
        }
        let kept = &known.history[known.history.len().saturating_sub(5)..];
        let same =
            kept.iter().find(|(at, records, _)| *at == sequence && *records == batch.record_count);
        if let Some((_, _, offset)) = same {
            return BatchOutcome::Duplicate { base_offset: Offset(*offset), log_start };
        }
        let ends_before = sequence + batch.record_count as i32 <= kept[0].0;
        if sequence >= known.history[0].0 && ends_before {
            return BatchOutcome::DuplicateForgotten;
        }
        BatchOutcome::OutOfOrder
    }
}
