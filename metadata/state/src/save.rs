//! Saving and restoring the state as records, for write-behind and for snapshots.
//!
//! - A record is a key and a value. Keys begin with the number of their table (never reused) and go
//!   on big-endian, so that they sort as the state does.
//! - [`MetadataState::take_changes`] costs as much as changed since the last call: large things
//!   are cut into records of their own (chunks of entries, single producers, outcomes, offsets).
//! - What follows from other records is not saved: names, counts, live bytes.
//! - All changes of one call belong into one transaction; a state restored from it equals the state
//!   that was saved.

mod keys;
mod records;
mod restore;
#[cfg(test)]
mod save_test;

use std::collections::{BTreeMap, BTreeSet};

use tidemill_base::{
    AppliedIndex, BrokerId, LaneKey, LaneSequence, PartitionId, PartitionIndex, ProducerId, TopicId,
};

pub use restore::RestoreError;

use crate::codec::{Encoded, to_bytes};
use crate::partition::Partition;
use crate::slots::Slot;
use crate::state::MetadataState;
use keys::Key;
use records::{FileRecord, GroupRecord, LaneRecord, OutcomeRecord, PartitionRecord};

/// Records to write and to delete, in one transaction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SaveSet {
    /// The index that the state covers once these are written.
    pub applied: AppliedIndex,
    /// Keys and their values.
    pub puts: Vec<(Vec<u8>, Vec<u8>)>,
    /// Keys to delete, present or not; none of them is among the puts.
    pub deletes: Vec<Vec<u8>>,
}

/// What has changed since it was saved, besides the marks on partitions, chunks, files and
/// producers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Changed {
    pub(crate) cluster: bool,
    pub(crate) cluster_configs: bool,
    pub(crate) brokers: BTreeSet<BrokerId>,
    pub(crate) lanes: BTreeSet<LaneKey>,
    /// Saved outcomes that are forgotten.
    pub(crate) outcomes: Vec<(LaneKey, LaneSequence)>,
    pub(crate) topics: BTreeSet<TopicId>,
    partitions: Vec<PartitionId>,
    /// Chunks that are gone.
    chunks: Vec<(PartitionId, i64)>,
    pub(crate) producers: Vec<(PartitionId, ProducerId)>,
    pub(crate) groups: BTreeSet<String>,
    pub(crate) offsets: BTreeMap<String, BTreeSet<(TopicId, PartitionIndex)>>,
}

impl Changed {
    /// Marks a partition.
    pub(crate) fn partition(&mut self, id: PartitionId, partition: &mut Partition) {
        if !partition.dirty {
            partition.dirty = true;
            self.partitions.push(id);
        }
    }

    /// Notes chunks that are gone.
    pub(crate) fn chunks(&mut self, id: PartitionId, keys: Vec<i64>) {
        self.chunks.extend(keys.into_iter().map(|key| (id, key)));
    }

    /// Notes an offset that was committed or is gone.
    pub(crate) fn offset(&mut self, group: &str, key: (TopicId, PartitionIndex)) {
        if let Some(keys) = self.offsets.get_mut(group) {
            keys.insert(key);
        } else {
            self.offsets.insert(group.to_owned(), BTreeSet::from([key]));
        }
    }
}

impl SaveSet {
    fn put<T: Encoded>(&mut self, key: &Key<'_>, value: &T) {
        self.puts.push((key.to_bytes(), to_bytes(value)));
    }

    /// Puts the value, or deletes the key if there is none.
    fn save<T: Encoded>(&mut self, key: &Key<'_>, value: Option<&T>) {
        match value {
            Some(value) => self.put(key, value),
            None => self.deletes.push(key.to_bytes()),
        }
    }
}

impl MetadataState {
    /// What changed since the last call (or since it was made or restored), to be written in one
    /// transaction. The state counts it as saved from now on: if writing fails, the process must
    /// not go on saving from this state.
    pub fn take_changes(&mut self) -> SaveSet {
        let changed = std::mem::take(&mut self.changed);
        let mut set = SaveSet { applied: self.cluster.applied, ..SaveSet::default() };
        if changed.cluster {
            set.put(&Key::Cluster, &self.cluster);
        }
        if changed.cluster_configs {
            set.put(&Key::ClusterConfigs, &self.cluster_configs);
        }
        for broker in &changed.brokers {
            set.save(&Key::Broker(*broker), self.brokers.0.get(broker));
        }
        for topic in &changed.topics {
            set.save(&Key::Topic(*topic), self.topics.get(*topic));
        }
        self.save_lanes(&changed, &mut set);
        self.save_files(&mut set);
        self.save_partitions(&changed, &mut set);
        self.save_producers(changed.producers, &mut set);
        for group in &changed.groups {
            let record = self.groups.get(group).map(GroupRecord::of);
            set.save(&Key::Group(group), record.as_ref());
        }
        for (name, keys) in &changed.offsets {
            let group = self.groups.get(name);
            for key in keys {
                let offset = group.and_then(|group| group.offsets.get(key));
                set.save(&Key::Offset(name, key.0, key.1), offset);
            }
        }
        set
    }

    fn save_lanes(&mut self, changed: &Changed, set: &mut SaveSet) {
        for (lane, sequence) in &changed.outcomes {
            set.deletes.push(Key::Outcome(*lane, *sequence).to_bytes());
        }
        for key in &changed.lanes {
            let lane = self.lanes.0.get_mut(key);
            set.save(&Key::Lane(*key), lane.as_deref().map(LaneRecord::of).as_ref());
            let outcomes = lane.into_iter().flat_map(|lane| &mut lane.outcomes);
            for recorded in outcomes.filter(|recorded| !recorded.saved) {
                recorded.saved = true;
                let key = Key::Outcome(*key, recorded.sequence);
                set.put(&key, &OutcomeRecord::of(recorded));
            }
        }
    }

    fn save_files(&mut self, set: &mut SaveSet) {
        let mut slots: Vec<Slot> = std::mem::take(&mut self.files.changed);
        slots.sort_unstable();
        slots.dedup();
        for slot in slots {
            let record = self.files.slots.get(slot).map(|(id, file)| FileRecord::of(id, file));
            set.save(&Key::File(slot), record.as_ref());
            if let Some(file) = self.files.slots.get_mut(slot) {
                file.dirty = false;
            }
        }
    }

    fn save_partitions(&mut self, changed: &Changed, set: &mut SaveSet) {
        for (id, key) in &changed.chunks {
            let partition = self.partitions.get(id);
            if !partition.is_some_and(|partition| partition.log.entries.has_chunk(*key)) {
                set.deletes.push(Key::Chunk(*id, *key).to_bytes());
            }
        }
        for id in &changed.partitions {
            let Some(partition) = self.partitions.get_mut(id) else {
                set.deletes.push(Key::Partition(*id).to_bytes());
                continue;
            };
            partition.dirty = false;
            set.put(&Key::Partition(*id), &PartitionRecord::of(partition));
            for chunk in partition.log.entries.chunks_mut().filter(|chunk| chunk.dirty) {
                chunk.dirty = false;
                set.put(&Key::Chunk(*id, chunk.key), &chunk.items);
            }
        }
    }

    fn save_producers(&mut self, mut producers: Vec<(PartitionId, ProducerId)>, set: &mut SaveSet) {
        producers.sort_unstable();
        producers.dedup();
        for (id, producer) in producers {
            let partition = self.partitions.get_mut(&id);
            let mut entry =
                partition.and_then(|partition| partition.producers.entries.get_mut(&producer));
            if let Some(entry) = &mut entry {
                entry.dirty = false;
            }
            set.save(&Key::Producer(id, producer), entry.as_deref());
        }
    }

    /// The whole state as records, by rising key. Equal states have equal snapshots.
    #[must_use]
    pub fn snapshot(&self) -> SaveSet {
        let mut set = SaveSet { applied: self.cluster.applied, ..SaveSet::default() };
        set.put(&Key::Cluster, &self.cluster);
        set.put(&Key::ClusterConfigs, &self.cluster_configs);
        for (id, broker) in &self.brokers.0 {
            set.put(&Key::Broker(*id), broker);
        }
        for (key, lane) in &self.lanes.0 {
            set.put(&Key::Lane(*key), &LaneRecord::of(lane));
            for recorded in &lane.outcomes {
                let key = Key::Outcome(*key, recorded.sequence);
                set.put(&key, &OutcomeRecord::of(recorded));
            }
        }
        for (id, slot, file) in self.files.slots.iter() {
            set.put(&Key::File(slot), &FileRecord::of(id, file));
        }
        for topic in self.topics.by_id() {
            set.put(&Key::Topic(topic.id), topic);
        }
        for (id, partition) in &self.partitions {
            set.put(&Key::Partition(*id), &PartitionRecord::of(partition));
            for chunk in partition.log.entries.chunks() {
                set.put(&Key::Chunk(*id, chunk.key), &chunk.items);
            }
            for (producer, entry) in &partition.producers.entries {
                set.put(&Key::Producer(*id, *producer), entry);
            }
        }
        for (name, group) in &self.groups {
            set.put(&Key::Group(name), &GroupRecord::of(group));
            for (key, offset) in &group.offsets {
                set.put(&Key::Offset(name, key.0, key.1), offset);
            }
        }
        set.puts.sort_unstable();
        set
    }
}
