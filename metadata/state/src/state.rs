//! The state: every table that the cluster agrees on, and its queries.
//!
//! Deterministic: two states to which the same commands were applied are equal, and so is one that
//! was saved and restored between. Nothing here reads a clock, draws a random number or iterates an
//! unordered map.

use std::collections::BTreeMap;

use tidemill_base::{
    AppliedIndex, FileId, FileNumber, Incarnation, LaneKey, LaneSequence, PartitionId,
    PartitionIndex, TimestampMs, TopicId,
};
use uuid::Uuid;

use crate::brokers::{Broker, Brokers};
use crate::codec::encoded;
use crate::configs::{ClusterConfig, TopicConfig};
use crate::entry::Entry;
use crate::event::{Event, PartitionImage};
use crate::files::{FileState, Files, Freed};
use crate::groups::Group;
use crate::lanes::Lanes;
use crate::limits::Limits;
use crate::packed::Packed;
use crate::partition::Partition;
use crate::save::Changed;
use crate::topics::{Topic, Topics};

/// The first feature level.
pub const FEATURE_LEVEL_FIRST: u16 = 1;
/// The highest feature level that this build knows.
pub const FEATURE_LEVEL_MAX: u16 = 1;

encoded! {
    /// What is one of a kind: counters and the life of the cluster.
    pub(crate) struct Cluster {
        pub(crate) id: Uuid,
        pub(crate) incarnation: Incarnation,
        pub(crate) feature_level: u16,
        pub(crate) applied: AppliedIndex,
        pub(crate) time: TimestampMs,
        /// Partition ids below are, or were, in use.
        pub(crate) next_partition: u32,
        /// Producer ids below were given out.
        pub(crate) next_producer: i64,
        /// Producer ids below belong to an earlier life and are fenced.
        pub(crate) producer_floor: i64,
        /// Group epochs below were given out.
        pub(crate) next_group_epoch: u64,
        /// Where expiring idle producers goes on.
        pub(crate) expiry_cursor: PartitionId,
        /// Before this time no producer can be evicted.
        pub(crate) no_idle_before: TimestampMs,
        pub(crate) limits: Limits,
    }
}

/// Everything that the cluster agrees on.
///
/// Call [`apply`](Self::apply) with committed commands in the order of the metadata log,
/// [`take_changes`](Self::take_changes) whenever the state is written behind.
#[derive(Clone, Debug)]
pub struct MetadataState {
    pub(crate) cluster: Cluster,
    pub(crate) cluster_configs: BTreeMap<String, String>,
    pub(crate) cluster_config: ClusterConfig,
    pub(crate) brokers: Brokers,
    pub(crate) lanes: Lanes,
    pub(crate) files: Files,
    pub(crate) topics: Topics,
    pub(crate) partitions: BTreeMap<PartitionId, Box<Partition>>,
    pub(crate) groups: BTreeMap<String, Group>,
    /// (producer, partition) entries.
    pub(crate) producer_entries: u64,
    /// Committed offsets.
    pub(crate) offsets: u64,
    /// What the groups and their offsets weigh.
    pub(crate) group_bytes: u64,
    pub(crate) changed: Changed,
}

/// A file as the state knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileView {
    /// The file.
    pub id: FileId,
    /// Its length in bytes, as far as the metadata knows.
    pub length: u64,
    /// The bytes that entries cover.
    pub live_bytes: u64,
    /// How many entries refer to it.
    pub references: u32,
    /// Whether it is closed to further objects.
    pub sealed: bool,
    /// When it became garbage, if it has.
    pub freed: Option<Freed>,
}

impl MetadataState {
    /// An empty state, at index 0 and time 0.
    #[must_use]
    pub fn new(cluster_id: Uuid, incarnation: Incarnation) -> Self {
        Self::with_limits(cluster_id, incarnation, Limits::default())
    }

    /// An empty state with other limits than the default ones.
    #[must_use]
    pub fn with_limits(cluster_id: Uuid, incarnation: Incarnation, limits: Limits) -> Self {
        Self::of(Cluster {
            id: cluster_id,
            incarnation,
            feature_level: FEATURE_LEVEL_FIRST,
            applied: AppliedIndex(0),
            time: TimestampMs(0),
            next_partition: 1,
            next_producer: 1,
            producer_floor: 1,
            next_group_epoch: 1,
            expiry_cursor: PartitionId(0),
            no_idle_before: TimestampMs(0),
            limits,
        })
    }

    pub(crate) fn of(cluster: Cluster) -> Self {
        Self {
            cluster,
            cluster_configs: BTreeMap::new(),
            cluster_config: ClusterConfig::default(),
            brokers: Brokers::default(),
            lanes: Lanes::default(),
            files: Files::default(),
            topics: Topics::default(),
            partitions: BTreeMap::new(),
            groups: BTreeMap::new(),
            producer_entries: 0,
            offsets: 0,
            group_bytes: 0,
            changed: Changed::default(),
        }
    }

    /// The index of the last entry applied.
    #[must_use]
    pub fn applied_index(&self) -> AppliedIndex {
        self.cluster.applied
    }

    /// State time: the largest time proposed so far.
    #[must_use]
    pub fn time(&self) -> TimestampMs {
        self.cluster.time
    }

    /// The cluster's id.
    #[must_use]
    pub fn cluster_id(&self) -> Uuid {
        self.cluster.id
    }

    /// The life of the cluster.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.cluster.incarnation
    }

    /// The feature level.
    #[must_use]
    pub fn feature_level(&self) -> u16 {
        self.cluster.feature_level
    }

    /// The limits of the tables.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.cluster.limits
    }

    /// Every broker's last registration, by id.
    pub fn brokers(&self) -> impl Iterator<Item = &Broker> {
        self.brokers.0.values()
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

    /// The configs in force for a topic.
    #[must_use]
    pub fn topic_config(&self, topic: &Topic) -> TopicConfig {
        TopicConfig::of(&topic.configs, &self.cluster_configs)
    }

    /// The configs in force for every broker.
    #[must_use]
    pub fn cluster_config(&self) -> &ClusterConfig {
        &self.cluster_config
    }

    /// A partition as it stands. Costs as much as it has entries.
    #[must_use]
    pub fn partition(&self, id: PartitionId) -> Option<PartitionImage> {
        let log = &self.partitions.get(&id)?.log;
        Some(PartitionImage {
            partition: id,
            log_start: log.log_start,
            high_watermark: log.high_watermark,
            leader_epoch: log.leader_epoch,
            epoch_starts: log.epoch_starts.clone(),
            entries: log.entries.iter().filter_map(|item| self.unpack(item)).collect(),
        })
    }

    /// The topic and index of a partition.
    #[must_use]
    pub fn partition_place(&self, id: PartitionId) -> Option<(TopicId, PartitionIndex)> {
        let partition = self.partitions.get(&id)?;
        Some((partition.topic, partition.index))
    }

    /// The group of that name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.get(name)
    }

    /// Every group, by name.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &Group)> {
        self.groups.iter().map(|(name, group)| (name.as_str(), group))
    }

    /// The groups with members whose coordinator's registration has ended: a broker should claim
    /// them, so that members that do not come back are found out.
    pub fn groups_abandoned(&self) -> impl Iterator<Item = &str> {
        self.groups().filter_map(|(name, group)| {
            let lives = self.brokers.is_live(group.claim.broker, group.claim.broker_epoch);
            (!lives && !group.is_empty()).then_some(name)
        })
    }

    /// A file, garbage included.
    #[must_use]
    pub fn file(&self, id: &FileId) -> Option<FileView> {
        let (_, file) = self.files.slots.get(self.files.slots.find(id)?)?;
        Some(view(*id, file))
    }

    /// Every file, garbage included, by id.
    pub fn files(&self) -> impl Iterator<Item = FileView> {
        self.files.slots.iter().map(|(id, _, file)| view(id, file))
    }

    /// The floor of a lane: objects at or below it that are not committed may be deleted. The
    /// maximum for a lane whose broker's registration has ended; `None` for one that has not begun.
    #[must_use]
    pub fn lane_floor(&self, lane: &LaneKey) -> Option<LaneSequence> {
        let broker = self.brokers.0.get(&lane.broker)?;
        if lane.epoch < broker.epoch || (lane.epoch == broker.epoch && broker.fenced) {
            return Some(LaneSequence(u64::MAX));
        }
        if lane.epoch > broker.epoch {
            return None;
        }
        Some(self.lanes.0.get(lane).map_or(LaneSequence(0), |lane| lane.floor))
    }

    /// Append files of a live lane up to this number that are not known are refused for ever.
    #[must_use]
    pub fn lane_file_floor(&self, lane: &LaneKey) -> FileNumber {
        self.lanes.0.get(lane).map_or(FileNumber(0), |lane| lane.file_floor)
    }

    /// The sequence of the last object of a live lane that was committed or condemned.
    #[must_use]
    pub fn lane_last(&self, lane: &LaneKey) -> Option<LaneSequence> {
        self.lanes.0.get(lane).map(|lane| lane.last)
    }

    /// The bytes of all files that no entry covers: headers, refused batches, what retention took.
    #[must_use]
    pub fn dead_bytes(&self) -> u64 {
        self.files().map(|file| file.length.saturating_sub(file.live_bytes)).sum()
    }

    /// How many extents wait to be folded: all of append files that are not.
    #[must_use]
    pub fn extents_waiting(&self) -> u64 {
        self.files.extents_waiting
    }

    /// How many (producer, partition) entries there are.
    #[must_use]
    pub fn producer_entries(&self) -> u64 {
        self.producer_entries
    }

    /// The events that build, from an empty projection, one equal to those that saw every event.
    #[must_use]
    pub fn snapshot_events(&self) -> Vec<Event> {
        let cluster = [
            Event::IncarnationStarted { incarnation: self.cluster.incarnation },
            Event::FeatureLevelRaised { level: self.cluster.feature_level },
            Event::ClusterConfigured { configs: self.cluster_configs.clone() },
        ];
        let brokers = self.brokers().map(|broker| Event::BrokerRegistered(broker.clone()));
        let topics = self.topics().map(|topic| Event::TopicCreated(topic.clone()));
        let partitions = self.partitions.keys();
        let partitions =
            partitions.filter_map(|id| self.partition(*id).map(Event::PartitionRestored));
        let groups = self.groups().map(|(name, group)| Event::GroupClaimed {
            group: name.to_owned(),
            broker: group.claim.broker,
            broker_epoch: group.claim.broker_epoch,
            epoch: group.claim.epoch,
        });
        cluster.into_iter().chain(brokers).chain(topics).chain(partitions).chain(groups).collect()
    }

    /// About how many bytes of memory it takes.
    #[must_use]
    pub fn approximate_bytes(&self) -> usize {
        let partitions: usize =
            self.partitions.values().map(|partition| partition.approximate_bytes() + 24).sum();
        let groups: usize = self
            .groups
            .iter()
            .map(|(name, group)| name.len() + 32 + group.approximate_bytes())
            .sum();
        partitions
            + groups
            + self.topics.approximate_bytes()
            + self.files.slots.approximate_bytes()
            + self.lanes.approximate_bytes()
    }

    pub(crate) fn unpack(&self, item: &Packed) -> Option<Entry> {
        item.unpack(&self.files.slots, |file| file.length as u32)
    }
}

fn view(id: FileId, file: &FileState) -> FileView {
    FileView {
        id,
        length: file.length,
        live_bytes: file.live_bytes,
        references: file.references,
        sealed: file.sealed,
        freed: file.freed,
    }
}
