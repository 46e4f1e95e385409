//! Offsets: of partitions, and those that groups have committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};

use crate::admin::Admin;
use crate::cluster::Target;
use crate::cluster::offsets::{ListedOffsets, OffsetSpec};
use crate::consume::config::IsolationLevel;
use crate::error::{Error, Result};
use crate::group::offsets::{CommittedOffset, Committer, Offsets, asks_again};
use crate::topic_partition::TopicPartition;

impl Admin {
    /// Finds offsets by their meaning. Every partition asked is in the answer.
    pub async fn list_offsets(
        &self,
        wanted: &BTreeMap<TopicPartition, OffsetSpec>,
        isolation: IsolationLevel,
    ) -> ListedOffsets {
        self.cluster.list_offsets(wanted, isolation).await
    }

    /// The offsets that a group has committed, of these partitions or of all. A partition without
    /// one is not in the answer.
    ///
    /// # Errors
    /// `Retry` if the coordinator cannot be reached, `Denied`.
    pub async fn group_offsets(
        &self,
        group_id: &str,
        partitions: Option<&[TopicPartition]>,
    ) -> Result<BTreeMap<TopicPartition, CommittedOffset>> {
        self.cluster.committed_offsets(group_id, partitions).await
    }

    /// Sets the offsets of a group that has no members, which is how it is made to read again or
    /// to skip. Doing it again is harmless.
    ///
    /// # Errors
    /// `Retry` if the coordinator cannot be reached. Of a partition: `NotFound` (the group has
    /// members and does not know this client as one, or the partition does not exist), `Denied`.
    pub async fn alter_group_offsets(
        &self,
        group_id: &str,
        offsets: &Offsets,
    ) -> Result<BTreeMap<TopicPartition, Result<()>>> {
        self.cluster.commit_offsets(group_id, &Committer::outside(), offsets).await
    }

    /// Forgets offsets of a group.
    ///
    /// # Errors
    /// `Retry` if the coordinator cannot be reached, `NotFound` if there is no such group. Of a
    /// partition: `Conflict` if the group is subscribed to the topic, `NotFound`, `Denied`.
    pub async fn delete_group_offsets(
        &self,
        group_id: &str,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, Result<()>>> {
        let mut topics: BTreeMap<&Arc<str>, Vec<OffsetDeleteRequestPartition>> = BTreeMap::new();
        for partition in partitions {
            let partition_index = partition.partition.0;
            let entry = topics.entry(&partition.topic).or_default();
            entry.push(OffsetDeleteRequestPartition { partition_index });
        }
        let topics = topics.into_iter().map(|(name, partitions)| OffsetDeleteRequestTopic {
            name: (&**name).into(),
            partitions,
        });
        let request = OffsetDeleteRequest { group_id: group_id.into(), topics: topics.collect() };
        let what = format!("delete offsets of group {group_id}");
        let ask = self.cluster.ask(Target::Coordinator(group_id), &request, true, |response| {
            asks_again([response.error_code])
        });
        let response = ask.await.map_err(|error| error.during(&what))?;
        response.error_code.check().map_err(|code| Error::answered(&what, code))?;
        let mut outcomes = BTreeMap::new();
        for topic in &response.topics {
            for answer in &topic.partitions {
                let partition = TopicPartition::new(topic.name.as_str(), answer.partition_index);
                let checked = answer.error_code.check();
                let outcome = checked.map_err(|code: ErrorCode| {
                    Error::answered(format!("{what}: {partition}"), code)
                });
                outcomes.insert(partition, outcome);
            }
        }
        Ok(outcomes)
    }
}
