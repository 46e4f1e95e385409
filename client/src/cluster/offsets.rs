//! Finding offsets: the start and the end of partitions, and records by time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tidemill_base::{BrokerId, ErrorKind, LeaderEpoch, Offset, TimestampMs};
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsTopic,
    TIMESTAMP_EARLIEST, TIMESTAMP_LATEST, TIMESTAMP_MAX,
};

use crate::cluster::handle::{Cluster, Topics, topics_of};
use crate::cluster::routes::Role;
use crate::consume::config::IsolationLevel;
use crate::error::{Error, Result};
use crate::net::versions::ANY;
use crate::topic_partition::TopicPartition;

/// An offset by its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OffsetSpec {
    /// The first offset that is still there.
    Earliest,
    /// The end: the offset of the next record, or under read_committed the last stable offset.
    Latest,
    /// The first record with the largest timestamp.
    MaxTimestamp,
    /// The first record, in offset order, with this timestamp or a later one.
    At(TimestampMs),
}

impl OffsetSpec {
    fn timestamp(self) -> i64 {
        match self {
            Self::Earliest => TIMESTAMP_EARLIEST,
            Self::Latest => TIMESTAMP_LATEST,
            Self::MaxTimestamp => TIMESTAMP_MAX,
            Self::At(timestamp) => timestamp.0.max(0),
        }
    }
}

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedOffset {
    /// The offset; `None` if no record is that late.
    pub offset: Option<Offset>,
    /// The record's timestamp, where a record was asked for.
    pub timestamp: Option<TimestampMs>,
    /// The record's leader epoch, if the broker tells it.
    pub leader_epoch: Option<LeaderEpoch>,
}

/// What was found, by partition.
pub type ListedOffsets = BTreeMap<TopicPartition, Result<ListedOffset>>;

/// The first version of ListOffsets that finds the largest timestamp.
const MAX_TIMESTAMP_FROM: i16 = 7;

impl Cluster {
    /// Finds offsets, asking each partition's leader until all have answered or the time is up.
    /// Every partition asked is in the answer.
    pub(crate) async fn list_offsets(
        &self,
        wanted: &BTreeMap<TopicPartition, OffsetSpec>,
        isolation: IsolationLevel,
    ) -> ListedOffsets {
        let mut retries = self.api_retries().harmless();
        let mut found = ListedOffsets::new();
        let mut left = wanted.clone();
        while !left.is_empty() {
            let mut again = None;
            for (partition, result) in self.list_offsets_once(&left, isolation).await {
                match result {
                    Err(error) if error.may_repeat(true) => {
                        again = Some(error.clone());
                        found.insert(partition, Err(error));
                    }
                    result => {
                        left.remove(&partition);
                        found.insert(partition, result);
                    }
                }
            }
            let Some(error) = again else { break };
            if retries.pause(error).await.is_err() {
                break;
            }
            // If this fails, the next attempt says why.
            let _ = self.refresh(Topics::Named(&topics_of(left.keys())), false).await;
        }
        found
    }

    /// Asks each partition's leader once. Every partition asked is in the answer.
    pub(crate) async fn list_offsets_once(
        &self,
        wanted: &BTreeMap<TopicPartition, OffsetSpec>,
        isolation: IsolationLevel,
    ) -> ListedOffsets {
        let mut found = ListedOffsets::new();
        if let Err(error) = self.know(wanted.keys()).await {
            return wanted
                .keys()
                .map(|partition| (partition.clone(), Err(error.clone())))
                .collect();
        }
        let metadata = self.metadata();
        let mut by_leader: BTreeMap<BrokerId, Vec<(&TopicPartition, OffsetSpec)>> = BTreeMap::new();
        for (partition, spec) in wanted {
            match metadata.leader(partition) {
                Some(leader) => by_leader.entry(leader).or_default().push((partition, *spec)),
                None => {
                    let code = match metadata.partition(partition) {
                        Some(_) => ErrorCode::LEADER_NOT_AVAILABLE,
                        None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                    };
                    found.insert(partition.clone(), Err(Error::answered(partition, code)));
                }
            }
        }
        for (leader, wanted) in by_leader {
            found.extend(self.ask_leader(leader, &wanted, isolation).await);
        }
        found
    }

    /// Reads the metadata of topics that are not known.
    async fn know(&self, partitions: impl IntoIterator<Item = &TopicPartition>) -> Result<()> {
        let metadata = self.metadata();
        let mut unknown = topics_of(partitions);
        unknown.retain(|topic| !metadata.topics.contains_key(topic));
        if unknown.is_empty() {
            return Ok(());
        }
        self.refresh(Topics::Named(&unknown), false).await.map(drop)
    }

    async fn ask_leader(
        &self,
        leader: BrokerId,
        wanted: &[(&TopicPartition, OffsetSpec)],
        isolation: IsolationLevel,
    ) -> ListedOffsets {
        let asked = async {
            let connection = self.broker(leader, Role::Control).await?;
            let request = request(wanted, isolation, self.config().request_timeout_ms);
            if wanted.iter().any(|(_, spec)| *spec == OffsetSpec::MaxTimestamp) {
                let version = connection.version(tidemill_kafka::ApiKey::ListOffsets, ANY)?;
                if version < MAX_TIMESTAMP_FROM {
                    let message = format!("broker {leader} cannot find the largest timestamp");
                    return Err(Error::new(ErrorKind::Invalid, message));
                }
            }
            connection.call(&request, ANY, Duration::ZERO).await
        };
        let response = match asked.await {
            Ok(response) => response,
            Err(error) => {
                let failed = |partition: &TopicPartition| (partition.clone(), Err(error.clone()));
                return wanted.iter().map(|(partition, _)| failed(partition)).collect();
            }
        };
        let find = |partition: &TopicPartition| {
            let topic = response.topics.iter().find(|topic| topic.name == *partition.topic)?;
            topic.partitions.iter().find(|one| one.partition_index == partition.partition.0)
        };
        let judge = |partition: &TopicPartition| match find(partition) {
            Some(answer) => judge(partition, answer),
            None => Err(Error::new(
                ErrorKind::Bug,
                format!("find offsets of {partition}: the broker answered nothing"),
            )),
        };
        wanted.iter().map(|(partition, _)| ((*partition).clone(), judge(partition))).collect()
    }
}

fn request(
    wanted: &[(&TopicPartition, OffsetSpec)],
    isolation: IsolationLevel,
    timeout_ms: u64,
) -> ListOffsetsRequest {
    let mut topics: BTreeMap<&Arc<str>, Vec<ListOffsetsPartition>> = BTreeMap::new();
    for (partition, spec) in wanted {
        topics.entry(&partition.topic).or_default().push(ListOffsetsPartition {
            partition_index: partition.partition.0,
            current_leader_epoch: -1,
            timestamp: spec.timestamp(),
        });
    }
    let topics = topics
        .into_iter()
        .map(|(name, partitions)| ListOffsetsTopic { name: (&**name).into(), partitions });
    ListOffsetsRequest {
        replica_id: -1,
        isolation_level: isolation.number(),
        topics: topics.collect(),
        timeout_ms: i32::try_from(timeout_ms).unwrap_or(i32::MAX),
    }
}

fn judge(
    partition: &TopicPartition,
    answer: &ListOffsetsPartitionResponse,
) -> Result<ListedOffset> {
    if answer.error_code.is_error() {
        return Err(Error::answered(format!("find offsets of {partition}"), answer.error_code));
    }
    Ok(ListedOffset {
        offset: (answer.offset >= 0).then_some(Offset(answer.offset)),
        timestamp: (answer.timestamp >= 0).then_some(TimestampMs(answer.timestamp)),
        leader_epoch: (answer.leader_epoch >= 0).then_some(LeaderEpoch(answer.leader_epoch)),
    })
}
