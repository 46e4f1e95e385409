//! Restoring a state from its records.
//!
//! Records are outside input: whatever they say, restoring ends in a state whose invariants hold or
//! in an error. Counts are taken anew from the entries.

use tidemill_base::{ErrorKind, LaneKey, LaneSequence, PartitionId, ProducerId};

use super::keys::Key;
use super::records::{FileRecord, GroupRecord, LaneRecord, OutcomeRecord, PartitionRecord};
use crate::codec::{DecodeError, from_bytes};
use crate::configs::ClusterConfig;
use crate::files::FileState;
use crate::groups::{CommittedOffset, Group};
use crate::lanes::{Lane, Recorded};
use crate::limits::SLOTS_MAX;
use crate::packed::Packed;
use crate::partition::Partition;
use crate::producers::Producer;
use crate::slots::Slot;
use crate::state::MetadataState;

/// Records that are not those of a state.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A value is damaged.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The records do not fit together.
    #[error("the saved state is inconsistent: {0}")]
    Inconsistent(&'static str),
}

impl RestoreError {
    /// What the caller may do: nothing but take another copy.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Corrupt
    }
}

fn ensure(holds: bool, otherwise: &'static str) -> Result<(), RestoreError> {
    if holds { Ok(()) } else { Err(RestoreError::Inconsistent(otherwise)) }
}

impl MetadataState {
    /// The state of which these are all the records, by rising key.
    ///
    /// # Errors
    /// The records are damaged, out of order, or do not fit together.
    pub fn restore<K, V>(records: impl IntoIterator<Item = (K, V)>) -> Result<Self, RestoreError>
    where
        K: AsRef<[u8]>,
        V: AsRef<[u8]>,
    {
        let mut records = records.into_iter();
        let first = records.next();
        let cluster = first.as_ref().map(|(key, value)| (key.as_ref(), value.as_ref()));
        let Some((key, value)) = cluster else {
            return Err(RestoreError::Inconsistent("there are no records"));
        };
        ensure(
            Key::from_bytes(key) == Some(Key::Cluster),
            "the first record is not the cluster's",
        )?;
        let mut last = key.to_vec();
        let mut state = Self::of(from_bytes(value)?);
        for (key, value) in records {
            ensure(last.as_slice() < key.as_ref(), "keys do not rise")?;
            last = key.as_ref().to_vec();
            let parsed = Key::from_bytes(key.as_ref());
            state.restore_record(
                parsed.ok_or(RestoreError::Inconsistent("a key is of no table"))?,
                value.as_ref(),
            )?;
        }
        state.check_topics()?;
        state.check_partitions()?;
        state.check_files()?;
        Ok(state)
    }

    fn restore_record(&mut self, key: Key<'_>, value: &[u8]) -> Result<(), RestoreError> {
        match key {
            Key::Cluster => return Err(RestoreError::Inconsistent("two clusters")),
            Key::ClusterConfigs => {
                self.cluster_configs = from_bytes(value)?;
                self.cluster_config = ClusterConfig::of(&self.cluster_configs);
            }
            Key::Broker(id) => {
                let broker: crate::brokers::Broker = from_bytes(value)?;
                ensure(broker.id == id, "a broker stands under another's key")?;
                self.brokers.0.insert(id, broker);
            }
            Key::Lane(key) => self.restore_lane(key, from_bytes(value)?)?,
            Key::Outcome(lane, sequence) => {
                self.restore_outcome(lane, sequence, from_bytes(value)?)?;
            }
            Key::File(slot) => self.restore_file(slot, from_bytes(value)?)?,
            Key::Topic(id) => {
                let topic: crate::topics::Topic = from_bytes(value)?;
                ensure(topic.id == id, "a topic stands under another's key")?;
                ensure(self.topics.insert(topic), "two topics of one name")?;
            }
            Key::Partition(id) => self.restore_partition(id, from_bytes(value)?)?,
            Key::Chunk(id, key) => self.restore_chunk(id, key, from_bytes(value)?)?,
            Key::Producer(id, producer) => {
                self.restore_producer(id, producer, from_bytes(value)?)?;
            }
            Key::Group(name) => {
                let GroupRecord { claim, generation, empty_since } = from_bytes(value)?;
                self.group_bytes += Group::weight(name, generation.as_ref());
                let group = Group { claim, generation, empty_since, offsets: Default::default() };
                self.groups.insert(name.to_owned(), group);
            }
            Key::Offset(name, topic, index) => {
                let group = self.groups.get_mut(name);
                let group = group.ok_or(RestoreError::Inconsistent("an offset without group"))?;
                let offset: CommittedOffset = from_bytes(value)?;
                self.offsets += 1;
                self.group_bytes += offset.weight();
                group.offsets.insert((topic, index), offset);
            }
        }
        Ok(())
    }

    fn restore_lane(&mut self, key: LaneKey, record: LaneRecord) -> Result<(), RestoreError> {
        ensure(self.brokers.is_live(key.broker, key.epoch), "a lane of no live broker")?;
        let LaneRecord { last, floor, file_floor } = record;
        ensure(floor <= last && last.0 < u64::MAX / 4 * 3, "a lane is beyond its end")?;
        self.lanes.0.insert(key, Lane { last, floor, file_floor, ..Lane::default() });
        Ok(())
    }

    fn restore_outcome(
        &mut self,
        key: LaneKey,
        sequence: LaneSequence,
        record: OutcomeRecord,
    ) -> Result<(), RestoreError> {
        let lane = self.lanes.0.get_mut(&key);
        let lane = lane.ok_or(RestoreError::Inconsistent("an outcome without lane"))?;
        ensure(sequence <= lane.last, "an outcome beyond its lane's last")?;
        let OutcomeRecord { location, outcomes } = record;
        lane.record(Recorded { sequence, location, outcomes: outcomes.into(), saved: true });
        Ok(())
    }

    fn restore_file(&mut self, slot: Slot, record: FileRecord) -> Result<(), RestoreError> {
        let FileRecord { id, length, sealed, freed } = record;
        let file = FileState { freed, ..FileState::new(length, sealed) };
        if freed.is_some() {
            self.files.garbage.insert(slot);
        }
        let slots_max = self.cluster.limits.files_max.min(SLOTS_MAX);
        let placed = self.files.slots.restore(slot, id, file, slots_max);
        ensure(placed, "a file's slot or id is taken, or beyond the limit")
    }

    fn restore_partition(
        &mut self,
        id: PartitionId,
        record: PartitionRecord,
    ) -> Result<(), RestoreError> {
        let epochs_rise = record.epoch_starts.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let in_order = 0 <= record.log_start.0 && record.log_start <= record.high_watermark;
        ensure(epochs_rise && in_order, "a partition contradicts itself")?;
        let mut partition = Box::new(Partition::new(record.topic, record.index));
        partition.log.log_start = record.log_start;
        partition.log.high_watermark = record.high_watermark;
        partition.log.leader_epoch = record.leader_epoch;
        partition.log.epoch_starts = record.epoch_starts;
        partition.producers.highest_forgotten = record.highest_forgotten;
        self.partitions.insert(id, partition);
        Ok(())
    }

    fn restore_chunk(
        &mut self,
        id: PartitionId,
        key: i64,
        items: Vec<Packed>,
    ) -> Result<(), RestoreError> {
        let partition = self.partitions.get_mut(&id);
        let partition = partition.ok_or(RestoreError::Inconsistent("a chunk without partition"))?;
        for item in &items {
            let slots = [Some(item.file), item.index()];
            let known =
                slots.into_iter().flatten().all(|slot| self.files.slots.get(slot).is_some());
            ensure(known && item.is_sound(), "an entry that cannot be")?;
            self.files.refer(item);
            partition.log.bytes += u64::from(item.length);
        }
        ensure(partition.log.entries.restore(key, items), "chunks do not tile the log")
    }

    fn restore_producer(
        &mut self,
        id: PartitionId,
        producer: ProducerId,
        entry: Producer,
    ) -> Result<(), RestoreError> {
        let partition = self.partitions.get_mut(&id);
        let partition =
            partition.ok_or(RestoreError::Inconsistent("a producer without partition"))?;
        partition.producers.entries.insert(producer, entry);
        self.producer_entries += 1;
        Ok(())
    }

    fn check_topics(&self) -> Result<(), RestoreError> {
        let mut partitions = 0;
        for topic in self.topics.by_id() {
            partitions += topic.partitions.len();
            for (index, id) in topic.partitions.iter().enumerate() {
                let place = self.partition_place(*id);
                let stands = place.is_some_and(|(of, at)| of == topic.id && at.0 as usize == index);
                ensure(stands, "a topic and its partitions disagree")?;
            }
        }
        ensure(partitions == self.partitions.len(), "a partition without topic")
    }

    fn check_partitions(&self) -> Result<(), RestoreError> {
        for partition in self.partitions.values() {
            let log = &partition.log;
            let tiled = match log.entries.first() {
                Some(first) => {
                    first.base_offset <= log.log_start.0
                        && log.log_start.0 < first.end()
                        && log.entries.end() == Some(log.high_watermark.0)
                }
                None => log.log_start == log.high_watermark,
            };
            ensure(tiled, "entries do not tile the log")?;
        }
        Ok(())
    }

    fn check_files(&self) -> Result<(), RestoreError> {
        for (_, _, file) in self.files.slots.iter() {
            let unreachable = file.sealed && file.references == 0;
            ensure(unreachable == file.freed.is_some(), "garbage and references disagree")?;
        }
        Ok(())
    }
}

impl Packed {
    /// Whether it has records, and ends within the offsets.
    fn is_sound(&self) -> bool {
        self.base_offset >= 0
            && self.record_count > 0
            && self.base_offset.checked_add(i64::from(self.record_count)).is_some()
    }
}
