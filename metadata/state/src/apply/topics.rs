//! Creating and deleting topics and partitions.

use tidemill_base::twins::{self, Twin};
use tidemill_base::{PartitionId, PartitionIndex, TopicId};

use super::Change;
use super::commit_object::limit;
use crate::command::{ConfigChange, ConfigOperation, CreatePartitions, CreateTopic, DeleteTopic};
use crate::configs::{changed, topic_config};
use crate::event::Event;
use crate::outcome::Outcome;
use crate::partition::Partition;
use crate::refusal::Refusal;
use crate::state::MetadataState;
use crate::topics::{Topic, check_topic_name};

impl MetadataState {
    pub(super) fn create_topic(
        &mut self,
        command: &CreateTopic,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        check_topic_name(&command.name).map_err(Refusal::TopicName)?;
        if self.topics.named(&command.name).is_some() {
            return Err(Refusal::TopicExists);
        }
        if command.id.0.is_nil() {
            return Err(Refusal::Malformed("a topic's id is never zero"));
        }
        if self.topics.get(command.id).is_some() {
            return Err(Refusal::TopicExists);
        }
        if !matches!(command.replication_factor, -1 | 1..=100) {
            return Err(Refusal::ReplicationFactor);
        }
        let overrides = command.configs.iter().map(|(name, value)| ConfigChange {
            name: name.clone(),
            operation: ConfigOperation::Set(value.clone()),
        });
        let overrides: Vec<ConfigChange> = overrides.collect();
        let configs = changed(&Default::default(), true, &overrides, topic_config)?;
        limit("topics", self.topics.len() as u64 + 1, self.cluster.limits.topics_max.into())?;
        let partitions = self.allocate_partitions(0, command.partitions)?;
        let topic = Topic {
            id: command.id,
            name: command.name.clone(),
            replication_factor: command.replication_factor,
            partitions: partitions.clone(),
            configs,
        };
        self.add_partitions(command.id, 0, &partitions);
        self.topics.insert(topic.clone());
        self.changed.topics.insert(command.id);
        change.events.push(Event::TopicCreated(topic));
        Ok(Outcome::Partitions(partitions))
    }

    pub(super) fn create_partitions(
        &mut self,
        command: &CreatePartitions,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        let topic = self.topics.get(command.topic).ok_or(Refusal::UnknownTopic)?;
        let have = topic.partitions.len() as u32;
        let added = match command.partitions_total.checked_sub(have) {
            None => return Err(Refusal::PartitionCount("partitions cannot be taken away")),
            Some(0) => return Err(Refusal::PartitionCount("the topic has that many already")),
            Some(added) => added,
        };
        let partitions = self.allocate_partitions(have, added)?;
        self.add_partitions(command.topic, have, &partitions);
        if let Some(topic) = self.topics.get_mut(command.topic) {
            topic.partitions.extend(&partitions);
        }
        self.changed.topics.insert(command.topic);
        let event =
            Event::PartitionsCreated { topic: command.topic, partitions: partitions.clone() };
        change.events.push(event);
        Ok(Outcome::Partitions(partitions))
    }

    pub(super) fn delete_topic(
        &mut self,
        command: &DeleteTopic,
        change: &mut Change,
    ) -> Result<Outcome, Refusal> {
        let topic = self.topics.remove(command.topic).ok_or(Refusal::UnknownTopic)?;
        self.changed.topics.insert(topic.id);
        change.events.push(Event::TopicDeleted { topic: topic.id });
        for id in topic.partitions {
            let Some(mut partition) = self.partitions.remove(&id) else { continue };
            for item in partition.log.entries.iter() {
                self.files.release(item, change.freed, &mut change.events);
            }
            let chunks = partition.log.entries.chunks().map(|chunk| chunk.key).collect();
            self.changed.chunks(id, chunks);
            let producers = partition.producers.entries.keys();
            self.changed.producers.extend(producers.map(|producer| (id, *producer)));
            self.producer_entries -= partition.producers.entries.len() as u64;
            self.changed.partition(id, &mut partition);
        }
        self.drop_offsets_of(topic.id);
        Ok(Outcome::Done)
    }

    /// Gives out ids for partitions of a topic that has `have` already.
    fn allocate_partitions(&mut self, have: u32, count: u32) -> Result<Vec<PartitionId>, Refusal> {
        if count == 0 {
            return Err(Refusal::PartitionCount("a topic has at least one"));
        }
        if have.checked_add(count).is_none_or(|total| total > CreateTopic::PARTITIONS_MAX) {
            return Err(Refusal::PartitionCount("a topic has at most 10,000"));
        }
        let partitions = self.partitions.len() as u64 + u64::from(count);
        limit("partitions", partitions, self.cluster.limits.partitions_max.into())?;
        if twins::is_on(Twin::TopicIdReused) {
            let free = (1..).map(PartitionId).filter(|id| !self.partitions.contains_key(id));
            return Ok(free.take(count as usize).collect());
        }
        let first = self.cluster.next_partition;
        let next = first.checked_add(count);
        let next = next.ok_or(Refusal::Limit { what: "partition ids", max: u32::MAX.into() })?;
        self.cluster.next_partition = next;
        Ok((first..next).map(PartitionId).collect())
    }

    fn add_partitions(&mut self, topic: TopicId, first: u32, ids: &[PartitionId]) {
        for (index, id) in (first..).zip(ids) {
            let mut partition = Box::new(Partition::new(topic, PartitionIndex(index as i32)));
            self.changed.partition(*id, &mut partition);
            self.partitions.insert(*id, partition);
        }
    }
}
