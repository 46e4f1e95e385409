//! A broker's copy of the metadata, built from events alone.
//!
//! - Applied to the events of the same commands, two projections are equal; one built from
//!   [`MetadataState::snapshot_events`](crate::MetadataState::snapshot_events) equals one that has
//!   seen every event.
//! - A message is applied whole or not at all, and only if it begins where the projection ends: it
//!   never shows half of a commit, and its applied index never goes back within an incarnation.
//!
//! Not here: delivery, queues, filters (the watch), and what only the state needs (producers,
//! lanes, committed offsets).

mod apply;
mod partition;
#[cfg(test)]
mod projection_test;

use std::collections::BTreeMap;

use tidemill_base::{
    AppliedIndex, BrokerEpoch, BrokerId, FileId, GroupEpoch, Incarnation, PartitionId,
    PartitionIndex, TopicId,
};

use crate::brokers::Broker;
use crate::configs::{ClusterConfig, TopicConfig};
use crate::event::Event;
use crate::slots::Slots;
use crate::topics::{Topic, Topics};

pub use partition::PartitionView;
use partition::{IndexedFile, ProjectedPartition};

/// A copy of the metadata, with its queries.
#[derive(Clone, Default, Debug)]
pub struct Projection {
    applied: AppliedIndex,
    incarnation: Incarnation,
    feature_level: u16,
    brokers: BTreeMap<BrokerId, Broker>,
    topics: Topics,
    topic_configs: BTreeMap<TopicId, TopicConfig>,
    cluster_configs: BTreeMap<String, String>,
    cluster_config: ClusterConfig,
    partitions: BTreeMap<PartitionId, Box<ProjectedPartition>>,
    files: Slots<IndexedFile>,
    /// Extents of append files.
    extents_waiting: u64,
    groups: BTreeMap<String, Coordinator>,
}

/// Which broker coordinates a group, living or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coordinator {
    /// The broker.
    pub broker: BrokerId,
    /// Its registration.
    pub broker_epoch: BrokerEpoch,
    /// The claim.
    pub epoch: GroupEpoch,
}

/// The part of the metadata log that a message of events covers: `(from, to]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Covered {
    /// The projection must stand exactly here.
    pub from: AppliedIndex,
    /// Here it stands afterwards.
    pub to: AppliedIndex,
}

/// A message was not applied: it does not begin where the projection ends. Resubscribe from there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("events from {} do not follow {}", .found.0, .expected.0)]
pub struct NotNext {
    /// Where the projection ends.
    pub expected: AppliedIndex,
    /// Where the message begins.
    pub found: AppliedIndex,
}

impl Projection {
    /// An empty projection, at index 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A projection of a snapshot that was taken at `applied`.
    #[must_use]
    pub fn from_snapshot(applied: AppliedIndex, events: &[Event]) -> Self {
        let mut projection = Self::new();
        for event in events {
            projection.apply_event(event);
        }
        projection.applied = applied;
        projection
    }

    /// Applies one message, whole.
    ///
    /// # Errors
    /// The message does not begin at [`Self::applied_index`]; nothing was applied.
    pub fn apply(&mut self, covered: Covered, events: &[Event]) -> Result<(), NotNext> {
        if covered.from != self.applied {
            return Err(NotNext { expected: self.applied, found: covered.from });
        }
        for event in events {
            self.apply_event(event);
        }
        self.applied = covered.to;
        Ok(())
    }

    /// The index that this projection covers.
    #[must_use]
    pub fn applied_index(&self) -> AppliedIndex {
        self.applied
    }

    /// The life of the cluster.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The feature level of the cluster.
    #[must_use]
    pub fn feature_level(&self) -> u16 {
        self.feature_level
    }

    /// The topic of that name.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&Topic> {
        self.topics.named(name)
    }

    /// The topic of that id.
    #[must_use]
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Topic> {
        self.topics.get(id)
    }

    /// Every topic, by name.
    pub fn topics(&self) -> impl Iterator<Item = &Topic> {
        self.topics.iter()
    }

    /// The configs that are in force for a topic.
    #[must_use]
    pub fn topic_config(&self, id: TopicId) -> Option<&TopicConfig> {
        self.topic_configs.get(&id)
    }

    /// The cluster's overrides, by name.
    #[must_use]
    pub fn cluster_configs(&self) -> &BTreeMap<String, String> {
        &self.cluster_configs
    }

    /// The configs that are in force for every broker.
    #[must_use]
    pub fn cluster_config(&self) -> &ClusterConfig {
        &self.cluster_config
    }

    /// A partition of a topic.
    #[must_use]
    pub fn partition_id(&self, topic: TopicId, index: PartitionIndex) -> Option<PartitionId> {
        let index = usize::try_from(index.0).ok()?;
        self.topics.get(topic)?.partitions.get(index).copied()
    }

    /// The partition of that id.
    #[must_use]
    pub fn partition(&self, id: PartitionId) -> Option<PartitionView<'_>> {
        Some(PartitionView::new(id, self.partitions.get(&id)?, &self.files))
    }

    /// A broker's last registration, fenced or not.
    #[must_use]
    pub fn broker(&self, id: BrokerId) -> Option<&Broker> {
        self.brokers.get(&id)
    }

    /// Every broker's last registration, fenced or not, by id.
    pub fn brokers(&self) -> impl Iterator<Item = &Broker> {
        self.brokers.values()
    }

    /// The group's coordinator, if its registration has not ended.
    #[must_use]
    pub fn coordinator(&self, group: &str) -> Option<Coordinator> {
        let coordinator = self.groups.get(group)?;
        let broker = self.brokers.get(&coordinator.broker)?;
        (broker.epoch == coordinator.broker_epoch && !broker.fenced).then_some(*coordinator)
    }

    /// Every group that was claimed, by name.
    pub fn groups(&self) -> impl Iterator<Item = (&str, Coordinator)> {
        self.groups.iter().map(|(name, coordinator)| (name.as_str(), *coordinator))
    }

    /// Whether any entry still refers to the file.
    #[must_use]
    pub fn refers_to(&self, file: &FileId) -> bool {
        self.files.find(file).is_some()
    }

    /// How many extents wait to be folded: all of append files that are not.
    #[must_use]
    pub fn extents_waiting(&self) -> u64 {
        self.extents_waiting
    }

    /// About how many bytes of memory it takes.
    #[must_use]
    pub fn approximate_bytes(&self) -> usize {
        let partitions: usize =
            self.partitions.values().map(|partition| partition.approximate_bytes() + 24).sum();
        let groups: usize = self.groups.keys().map(|name| name.len() + 96).sum();
        self.topics.approximate_bytes() + partitions + self.files.approximate_bytes() + groups
    }
}

/// Equal in everything that queries show, however the memory is laid out.
impl PartialEq for Projection {
    fn eq(&self, other: &Self) -> bool {
        self.applied == other.applied
            && self.incarnation == other.incarnation
            && self.feature_level == other.feature_level
            && self.brokers == other.brokers
            && self.topics().eq(other.topics())
            && self.topic_configs == other.topic_configs
            && self.cluster_configs == other.cluster_configs
            && self.groups == other.groups
            && self.partitions.len() == other.partitions.len()
            && self.partitions.keys().all(|id| match (self.partition(*id), other.partition(*id)) {
                (Some(here), Some(there)) => here.image() == there.image(),
                _ => false,
            })
    }
}
