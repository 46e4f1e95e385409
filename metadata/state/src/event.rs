//! Events: what changed, told to every projection.
//!
//! The events of one command are applied whole. What only the state needs (producers, lanes,
//! committed offsets) has no event.

use std::collections::BTreeMap;

use tidemill_base::{
    BrokerEpoch, BrokerId, FileId, GroupEpoch, Incarnation, LeaderEpoch, Offset, PartitionId,
    TimestampMs, TopicId,
};

use crate::brokers::Broker;
use crate::entry::{Entry, Extent, Folded};
use crate::topics::Topic;

/// A change that watchers are told of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A broker has a new registration.
    BrokerRegistered(Broker),
    /// A broker's registration has ended.
    BrokerFenced {
        /// The broker.
        broker: BrokerId,
        /// The registration that ended.
        epoch: BrokerEpoch,
    },
    /// A topic exists, with partitions that are empty and in epoch 0.
    TopicCreated(Topic),
    /// A topic has more partitions, empty and in epoch 0.
    PartitionsCreated {
        /// The topic.
        topic: TopicId,
        /// The ids of the new ones, in the order of their indexes.
        partitions: Vec<PartitionId>,
    },
    /// A topic and its partitions are gone.
    TopicDeleted {
        /// The topic.
        topic: TopicId,
    },
    /// A topic's overrides are now these.
    TopicConfigured {
        /// The topic.
        topic: TopicId,
        /// All its overrides.
        configs: BTreeMap<String, String>,
    },
    /// The cluster's overrides are now these.
    ClusterConfigured {
        /// All its overrides.
        configs: BTreeMap<String, String>,
    },
    /// Extents were appended, in the order of the object's batches; high watermarks rose to their
    /// ends.
    Appended {
        /// What was appended to which partition.
        extents: Vec<(PartitionId, Extent)>,
    },
    /// A log start rose; entries wholly below it are gone.
    LogStartAdvanced {
        /// The partition.
        partition: PartitionId,
        /// Where its log starts.
        log_start: Offset,
    },
    /// The extents in the entry's range were replaced by it.
    RunFolded {
        /// The partition.
        partition: PartitionId,
        /// What stands there now.
        folded: Folded,
    },
    /// A partition's leader epoch rose.
    LeaderEpochRaised {
        /// The partition.
        partition: PartitionId,
        /// The new epoch.
        epoch: LeaderEpoch,
        /// Where it began, if it is kept (begun by creation or restore).
        start: Option<Offset>,
    },
    /// In snapshots only: a partition as it stands.
    PartitionRestored(PartitionImage),
    /// Nothing refers to a file any more.
    FileUnreachable {
        /// The file.
        file: FileId,
        /// The state time since when.
        at: TimestampMs,
    },
    /// A broker coordinates a group.
    GroupClaimed {
        /// The group.
        group: String,
        /// The coordinator.
        broker: BrokerId,
        /// Its registration.
        broker_epoch: BrokerEpoch,
        /// The claim.
        epoch: GroupEpoch,
    },
    /// A group is gone.
    GroupDeleted {
        /// The group.
        group: String,
    },
    /// The feature level rose.
    FeatureLevelRaised {
        /// The level.
        level: u16,
    },
    /// A new life of the cluster began.
    IncarnationStarted {
        /// The life.
        incarnation: Incarnation,
    },
}

/// A partition as it stands, for snapshots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartitionImage {
    /// The partition.
    pub partition: PartitionId,
    /// Where its log starts.
    pub log_start: Offset,
    /// Where it ends.
    pub high_watermark: Offset,
    /// Its leader epoch.
    pub leader_epoch: LeaderEpoch,
    /// The kept epochs and where they began, rising.
    pub epoch_starts: Vec<(LeaderEpoch, Offset)>,
    /// Its entries, rising.
    pub entries: Vec<Entry>,
}
