//! What each event does to a projection.
//!
//! An event about something the projection does not hold is passed over: events come from the
//! state machine, which only tells of what it has told before.

use std::collections::BTreeMap;

use tidemill_base::{FileId, PartitionId, PartitionIndex, TopicId};

use super::partition::{IndexedFile, ProjectedPartition};
use super::{Coordinator, Projection};
use crate::configs::{ClusterConfig, TopicConfig};
use crate::entry::{Entry, Extent, Folded};
use crate::event::{Event, PartitionImage};
use crate::packed::Packed;
use crate::partition_log::PartitionLog;
use crate::slots::{Slot, Slots};
use crate::topics::Topic;

impl Projection {
    pub(super) fn apply_event(&mut self, event: &Event) {
        match event {
            Event::Appended { extents } => {
                for (partition, extent) in extents {
                    self.append(*partition, extent);
                }
            }
            Event::LogStartAdvanced { partition, log_start } => {
                if let Some(partition) = self.partitions.get_mut(partition) {
                    partition.log.advance(*log_start, |item| {
                        release(&mut self.files, &mut self.extents_waiting, item)
                    });
                }
            }
            Event::RunFolded { partition, folded } => self.fold(*partition, folded),
            Event::LeaderEpochRaised { partition, epoch, start } => {
                if let Some(partition) = self.partitions.get_mut(partition) {
                    partition.log.raise_epoch(*epoch, *start);
                }
            }
            Event::PartitionRestored(image) => self.restore(image),
            Event::FileUnreachable { .. } => {}
            Event::TopicCreated(topic) => self.create_topic(topic),
            Event::PartitionsCreated { topic, partitions } => {
                self.create_partitions(*topic, partitions);
            }
            Event::TopicDeleted { topic } => self.delete_topic(*topic),
            Event::TopicConfigured { topic, configs } => self.configure_topic(*topic, configs),
            Event::ClusterConfigured { configs } => self.configure_cluster(configs),
            other => self.apply_member_event(other),
        }
    }

    fn apply_member_event(&mut self, event: &Event) {
        match event {
            Event::BrokerRegistered(broker) => {
                self.brokers.insert(broker.id, broker.clone());
            }
            Event::BrokerFenced { broker, epoch } => {
                if let Some(known) = self.brokers.get_mut(broker)
                    && known.epoch == *epoch
                {
                    known.fenced = true;
                }
            }
            Event::GroupClaimed { group, broker, broker_epoch, epoch } => {
                let coordinator =
                    Coordinator { broker: *broker, broker_epoch: *broker_epoch, epoch: *epoch };
                self.groups.insert(group.clone(), coordinator);
            }
            Event::GroupDeleted { group } => {
                self.groups.remove(group);
            }
            Event::FeatureLevelRaised { level } => self.feature_level = *level,
            Event::IncarnationStarted { incarnation } => self.incarnation = *incarnation,
            _ => {}
        }
    }

    fn append(&mut self, partition: PartitionId, extent: &Extent) {
        let Some(partition) = self.partitions.get_mut(&partition) else { return };
        let file = refer(&mut self.files, extent.file, 0);
        self.extents_waiting += u64::from(extent.file.is_append_file());
        partition.log.append(Packed::extent(extent, file));
    }

    fn fold(&mut self, partition: PartitionId, folded: &Folded) {
        let Some(partition) = self.partitions.get_mut(&partition) else { return };
        let file = refer(&mut self.files, folded.file, 0);
        let index = refer(&mut self.files, folded.index.file, folded.index.length);
        let item = Packed::folded(folded, file, index);
        let old: Vec<Packed> = partition
            .log
            .entries
            .iter_from(item.base_offset)
            .take_while(|old| old.base_offset < item.end())
            .copied()
            .collect();
        partition.log.fold(item);
        for old in &old {
            release(&mut self.files, &mut self.extents_waiting, old);
        }
    }

    fn restore(&mut self, image: &PartitionImage) {
        let Some(partition) = self.partitions.get_mut(&image.partition) else { return };
        let mut log = PartitionLog::new();
        log.high_watermark = image.entries.first().map_or(image.high_watermark, Entry::base_offset);
        for entry in &image.entries {
            log.append(match entry {
                Entry::Extent(extent) => {
                    self.extents_waiting += u64::from(extent.file.is_append_file());
                    Packed::extent(extent, refer(&mut self.files, extent.file, 0))
                }
                Entry::Folded(folded) => {
                    let file = refer(&mut self.files, folded.file, 0);
                    let index = refer(&mut self.files, folded.index.file, folded.index.length);
                    Packed::folded(folded, file, index)
                }
            });
        }
        log.log_start = image.log_start;
        log.leader_epoch = image.leader_epoch;
        log.epoch_starts.clone_from(&image.epoch_starts);
        partition.log = log;
    }

    fn create_topic(&mut self, topic: &Topic) {
        if !self.topics.insert(topic.clone()) {
            return;
        }
        self.add_partitions(topic.id, 0, &topic.partitions);
        self.refresh_topic_config(topic.id);
    }

    fn create_partitions(&mut self, topic: TopicId, partitions: &[PartitionId]) {
        let Some(known) = self.topics.get_mut(topic) else { return };
        let first = known.partitions.len();
        known.partitions.extend(partitions);
        self.add_partitions(topic, first, partitions);
    }

    fn add_partitions(&mut self, topic: TopicId, first: usize, partitions: &[PartitionId]) {
        for (index, id) in (first..).zip(partitions) {
            let index = PartitionIndex(index as i32);
            let log = PartitionLog::new();
            self.partitions.insert(*id, Box::new(ProjectedPartition { topic, index, log }));
        }
    }

    fn delete_topic(&mut self, id: TopicId) {
        let Some(topic) = self.topics.remove(id) else { return };
        self.topic_configs.remove(&id);
        for partition in topic.partitions {
            if let Some(partition) = self.partitions.remove(&partition) {
                for item in partition.log.entries.iter() {
                    release(&mut self.files, &mut self.extents_waiting, item);
                }
            }
        }
    }

    fn configure_topic(&mut self, id: TopicId, configs: &BTreeMap<String, String>) {
        if let Some(topic) = self.topics.get_mut(id) {
            topic.configs.clone_from(configs);
            self.refresh_topic_config(id);
        }
    }

    fn configure_cluster(&mut self, configs: &BTreeMap<String, String>) {
        self.cluster_configs.clone_from(configs);
        self.cluster_config = ClusterConfig::of(configs);
        let topics: Vec<TopicId> = self.topics.by_id().map(|topic| topic.id).collect();
        for topic in topics {
            self.refresh_topic_config(topic);
        }
    }

    fn refresh_topic_config(&mut self, id: TopicId) {
        if let Some(topic) = self.topics.get(id) {
            let config = TopicConfig::of(&topic.configs, &self.cluster_configs);
            self.topic_configs.insert(id, config);
        }
    }
}

fn refer(files: &mut Slots<IndexedFile>, id: FileId, length: u32) -> Slot {
    let slot = files.intern(id, || IndexedFile { references: 0, length });
    if let Some(file) = files.get_mut(slot) {
        file.references += 1;
    }
    slot
}

fn release(files: &mut Slots<IndexedFile>, extents_waiting: &mut u64, item: &Packed) {
    if !item.is_folded() && files.get(item.file).is_some_and(|(id, _)| id.is_append_file()) {
        *extents_waiting -= 1;
    }
    for slot in [Some(item.file), item.index()].into_iter().flatten() {
        if let Some(file) = files.get_mut(slot) {
            file.references -= 1;
            if file.references == 0 {
                files.remove(slot);
            }
        }
    }
}
