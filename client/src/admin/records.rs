//! Records: delete them from the front of partitions.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidemill_base::{BrokerId, Offset};
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic, OFFSET_HIGH_WATERMARK,
};

use crate::admin::Admin;
use crate::admin::answer::silent;
use crate::cluster::{Target, Topics, topics_of};
use crate::error::{Error, Result};
use crate::topic_partition::TopicPartition;

/// The new log start of each partition.
pub type DeletedRecords = BTreeMap<TopicPartition, Result<Offset>>;

impl Admin {
    /// Deletes the records before these offsets; `None` deletes all that there are. Every partition
    /// asked is in the answer. Doing it again is harmless.
    ///
    /// # Errors
    /// `Retry` if no broker can be reached. Of a partition: `NotFound` if it does not exist or does
    /// not have the offset, `Denied`.
    pub async fn delete_records(
        &self,
        before: &BTreeMap<TopicPartition, Option<Offset>>,
    ) -> Result<DeletedRecords> {
        let mut retries = self.cluster.api_retries().harmless();
        let mut deleted = DeletedRecords::new();
        let mut left = before.clone();
        loop {
            let topics = topics_of(left.keys());
            let refreshed = self.cluster.refresh(Topics::Named(&topics), false).await;
            let again = match refreshed {
                Err(error) => Some(error),
                Ok(_) => {
                    let answers = self.delete_records_once(&left).await;
                    let mut errors = answers.values().filter_map(|one| one.as_ref().err());
                    let again = errors.find(|error| worth_repeating(error)).cloned();
                    left.retain(|partition, _| {
                        let answer = answers.get(partition).and_then(|one| one.as_ref().err());
                        answer.is_some_and(worth_repeating)
                    });
                    deleted.extend(answers);
                    again
                }
            };
            let Some(error) = again else { return Ok(deleted) };
            if let Err(error) = retries.pause(error).await {
                return if deleted.is_empty() { Err(error) } else { Ok(deleted) };
            }
        }
    }

    async fn delete_records_once(
        &self,
        before: &BTreeMap<TopicPartition, Option<Offset>>,
    ) -> DeletedRecords {
        let metadata = self.cluster.metadata();
        let mut deleted = DeletedRecords::new();
        let mut by_leader: BTreeMap<BrokerId, Vec<(&TopicPartition, Option<Offset>)>> =
            BTreeMap::new();
        for (partition, offset) in before {
            match metadata.leader(partition) {
                Some(leader) => by_leader.entry(leader).or_default().push((partition, *offset)),
                None => {
                    let code = match metadata.partition(partition) {
                        Some(_) => ErrorCode::LEADER_NOT_AVAILABLE,
                        None => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                    };
                    let what = format!("delete records of {partition}");
                    deleted.insert(partition.clone(), Err(Error::answered(what, code)));
                }
            }
        }
        for (leader, wanted) in by_leader {
            deleted.extend(self.delete_at(leader, &wanted).await);
        }
        deleted
    }

    async fn delete_at(
        &self,
        leader: BrokerId,
        wanted: &[(&TopicPartition, Option<Offset>)],
    ) -> DeletedRecords {
        let mut topics: BTreeMap<&Arc<str>, Vec<DeleteRecordsPartition>> = BTreeMap::new();
        for (partition, offset) in wanted {
            topics.entry(&partition.topic).or_default().push(DeleteRecordsPartition {
                partition_index: partition.partition.0,
                offset: offset.map_or(OFFSET_HIGH_WATERMARK, |offset| offset.0),
            });
        }
        let topics = topics
            .into_iter()
            .map(|(name, partitions)| DeleteRecordsTopic { name: (&**name).into(), partitions });
        let request =
            DeleteRecordsRequest { topics: topics.collect(), timeout_ms: self.timeout_ms() };
        let ask =
            self.cluster.ask(Target::Broker(leader), &request, true, |_| ErrorCode::NONE).await;
        let mut deleted = DeletedRecords::new();
        for (partition, _) in wanted {
            let what = || format!("delete records of {partition}");
            let answer = match &ask {
                Err(error) => Err(error.clone().during(what())),
                Ok(response) => {
                    let topic = response.topics.iter().find(|one| one.name == *partition.topic);
                    let answer = topic.and_then(|topic| {
                        let index = partition.partition.0;
                        topic.partitions.iter().find(|one| one.partition_index == index)
                    });
                    match answer {
                        None => Err(silent(partition)),
                        Some(one) if one.error_code.is_ok() => Ok(Offset(one.low_watermark)),
                        Some(one) => Err(Error::answered(what(), one.error_code)),
                    }
                }
            };
            deleted.insert((*partition).clone(), answer);
        }
        deleted
    }
}

/// A partition that does not exist is not waited for here: nobody deletes from what is to come.
fn worth_repeating(error: &Error) -> bool {
    error.may_repeat(true) && error.code() != Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
}
