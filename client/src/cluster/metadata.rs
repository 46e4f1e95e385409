//! What the client knows of brokers, topics and leaders (pure).
//!
//! A value never changes: an answer makes a new one out of the last. So a reader works on one view.
//!
//! - Within one life of a topic (one topic id), a leader epoch never goes back: an answer from a
//!   broker that lags does not undo what another has told.
//! - A topic that does not exist is kept with its error, so that waiting callers learn of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidemill_base::{BrokerId, LeaderEpoch, PartitionIndex, TopicId};
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::leader_hint::{LeaderIdAndEpoch, NodeEndpoint};
use tidemill_kafka::messages::metadata::{
    MetadataResponse, MetadataResponsePartition, MetadataResponseTopic,
};

use crate::cluster::endpoint::Endpoint;
use crate::topic_partition::TopicPartition;

/// A broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokerNode {
    /// Its id.
    pub id: BrokerId,
    /// Where it listens.
    pub endpoint: Endpoint,
    /// Its rack or zone, if it has one.
    pub rack: Option<String>,
}

/// A topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicMetadata {
    /// Its name.
    pub name: Arc<str>,
    /// Its id; `None` from brokers that do not tell it.
    pub id: Option<TopicId>,
    /// Whether it serves the cluster itself.
    pub is_internal: bool,
    /// What is wrong with it, if anything; it has no partitions then.
    pub error: ErrorCode,
    /// Its partitions by number.
    pub partitions: BTreeMap<PartitionIndex, PartitionMetadata>,
}

/// A partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartitionMetadata {
    /// Its number.
    pub index: PartitionIndex,
    /// What is wrong with it, if anything.
    pub error: ErrorCode,
    /// The broker that leads it, if any does.
    pub leader: Option<BrokerId>,
    /// Its leader epoch; `None` from brokers that do not tell it.
    pub leader_epoch: Option<LeaderEpoch>,
    /// The brokers that hold it.
    pub replicas: Vec<BrokerId>,
    /// Those of them that are in sync.
    pub in_sync_replicas: Vec<BrokerId>,
    /// Those of them that are offline.
    pub offline_replicas: Vec<BrokerId>,
}

/// Everything known at one moment.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Metadata {
    /// Rises with every change; 0 is "nothing known yet".
    pub version: u64,
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The broker that takes administrative requests.
    pub controller: Option<BrokerId>,
    /// The brokers by id.
    pub brokers: BTreeMap<BrokerId, BrokerNode>,
    /// The topics by name: those asked for, not all that exist.
    pub topics: BTreeMap<Arc<str>, Arc<TopicMetadata>>,
}

impl Metadata {
    /// What is known after an answer. Brokers are replaced, and topics that were not asked stay as
    /// they are.
    #[must_use]
    pub fn after(&self, response: &MetadataResponse) -> Self {
        let mut next = self.clone();
        next.version += 1;
        next.cluster_id = response.cluster_id.as_ref().map(String::from);
        next.controller = some_broker(response.controller_id);
        next.brokers = response
            .brokers
            .iter()
            .filter_map(|broker| {
                node(broker.node_id, &broker.host, broker.port, broker.rack.as_ref())
            })
            .map(|node| (node.id, node))
            .collect();
        for answered in &response.topics {
            let Some(name) = answered.name.as_ref().filter(|name| !name.is_empty()) else {
                continue;
            };
            let name: Arc<str> = Arc::from(name.as_str());
            let topic = topic(name.clone(), answered, self.topics.get(&name).map(Arc::as_ref));
            next.topics.insert(name, Arc::new(topic));
        }
        next
    }

    /// What is known after a broker named the leader of a partition beside an error (KIP-951);
    /// `None` if that is not news, or the leader's address is not known.
    #[must_use]
    pub fn after_hint(
        &self,
        partition: &TopicPartition,
        hint: &LeaderIdAndEpoch,
        endpoints: &[NodeEndpoint],
    ) -> Option<Self> {
        let leader = some_broker(hint.leader_id)?;
        let known = self.partition(partition)?;
        if known.leader_epoch.is_some_and(|epoch| epoch.0 >= hint.leader_epoch) {
            return None;
        }
        let mut next = self.clone();
        let endpoint = endpoints.iter().find(|endpoint| endpoint.node_id == hint.leader_id);
        if let Some(node) =
            endpoint.and_then(|told| node(told.node_id, &told.host, told.port, told.rack.as_ref()))
        {
            next.brokers.insert(leader, node);
        }
        if !next.brokers.contains_key(&leader) {
            return None;
        }
        let topic = Arc::make_mut(next.topics.get_mut(&partition.topic)?);
        let partition = topic.partitions.get_mut(&partition.partition)?;
        partition.leader = Some(leader);
        partition.leader_epoch = some_epoch(hint.leader_epoch);
        partition.error = ErrorCode::NONE;
        next.version += 1;
        Some(next)
    }

    /// What is known without a topic.
    #[must_use]
    pub fn without(&self, topic: &str) -> Self {
        let mut next = self.clone();
        next.topics.remove(topic);
        next.version += 1;
        next
    }

    /// A partition, if it is known.
    #[must_use]
    pub fn partition(&self, partition: &TopicPartition) -> Option<&PartitionMetadata> {
        self.topics.get(&partition.topic)?.partitions.get(&partition.partition)
    }

    /// The broker that leads a partition, if it is known and its address is.
    #[must_use]
    pub fn leader(&self, partition: &TopicPartition) -> Option<BrokerId> {
        let leader = self.partition(partition)?.leader?;
        self.brokers.contains_key(&leader).then_some(leader)
    }

    /// The topic with this id, if it is known.
    #[must_use]
    pub fn topic_of_id(&self, id: TopicId) -> Option<&Arc<TopicMetadata>> {
        self.topics.values().find(|topic| topic.id == Some(id))
    }
}

impl TopicMetadata {
    /// How many partitions there are.
    #[must_use]
    pub fn partition_count(&self) -> usize {
        self.partitions.len()
    }
}

fn topic(
    name: Arc<str>,
    answered: &MetadataResponseTopic,
    known: Option<&TopicMetadata>,
) -> TopicMetadata {
    let id = (!answered.topic_id.is_nil()).then_some(TopicId(answered.topic_id));
    let same_life = known.filter(|known| known.id == id);
    let partitions = answered.partitions.iter().map(|answered| {
        let index = PartitionIndex(answered.partition_index);
        let told = partition(answered);
        let known = same_life.and_then(|known| known.partitions.get(&index));
        match known {
            Some(known) if known.leader_epoch > told.leader_epoch => (index, known.clone()),
            _ => (index, told),
        }
    });
    TopicMetadata {
        name,
        id,
        is_internal: answered.is_internal,
        error: answered.error_code,
        partitions: partitions.collect(),
    }
}

fn partition(answered: &MetadataResponsePartition) -> PartitionMetadata {
    let brokers = |ids: &[i32]| ids.iter().copied().map(BrokerId).collect();
    PartitionMetadata {
        index: PartitionIndex(answered.partition_index),
        error: answered.error_code,
        leader: some_broker(answered.leader_id),
        leader_epoch: some_epoch(answered.leader_epoch),
        replicas: brokers(&answered.replica_nodes),
        in_sync_replicas: brokers(&answered.isr_nodes),
        offline_replicas: brokers(&answered.offline_replicas),
    }
}

/// A broker as told on the wire; `None` if its address cannot be one.
pub(crate) fn node(
    id: i32,
    host: &str,
    port: i32,
    rack: Option<&tidemill_kafka::KString>,
) -> Option<BrokerNode> {
    let port = u16::try_from(port).ok().filter(|port| *port > 0)?;
    let endpoint = Endpoint { host: host.to_owned(), port };
    Some(BrokerNode { id: some_broker(id)?, endpoint, rack: rack.map(String::from) })
}

fn some_broker(id: i32) -> Option<BrokerId> {
    (id >= 0).then_some(BrokerId(id))
}

fn some_epoch(epoch: i32) -> Option<LeaderEpoch> {
    (epoch >= 0).then_some(LeaderEpoch(epoch))
}

#[cfg(test)]
mod metadata_test;
