//! The offsets that a group has committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidemill_base::{LeaderEpoch, Offset};
use tidemill_kafka::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use tidemill_kafka::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    OffsetFetchResponse,
};
use tidemill_kafka::{ErrorCode, KString};

use crate::cluster::{Cluster, Target};
use crate::error::{Error, Result};
use crate::topic_partition::TopicPartition;

/// Offsets by partition.
pub type Offsets = BTreeMap<TopicPartition, Offset>;

/// An offset that a group has committed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommittedOffset {
    /// The offset of the next record to read.
    pub offset: Offset,
    /// The leader epoch of the last record read, if it was told.
    pub leader_epoch: Option<LeaderEpoch>,
    /// A text that was committed along.
    pub metadata: String,
}

/// As whom offsets are committed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Committer {
    pub(crate) generation: i32,
    pub(crate) member_id: String,
    pub(crate) instance_id: Option<String>,
}

impl Committer {
    /// As no member: only while the group has none.
    pub(crate) fn outside() -> Self {
        Self { generation: -1, member_id: String::new(), instance_id: None }
    }
}

impl Cluster {
    /// Commits offsets; what became of each partition.
    ///
    /// # Errors
    /// `Retry` if the coordinator cannot be reached, `Denied`.
    pub(crate) async fn commit_offsets(
        &self,
        group: &str,
        committer: &Committer,
        offsets: &Offsets,
    ) -> Result<BTreeMap<TopicPartition, Result<()>>> {
        let request = commit_request(group, committer, offsets);
        // Committing the same offsets again comes to the same.
        let ask = self.ask(Target::Coordinator(group), &request, true, |response| {
            let codes = response.topics.iter().flat_map(|topic| &topic.partitions);
            asks_again(codes.map(|partition| partition.error_code))
        });
        let what = format!("commit offsets of group {group}");
        let response = ask.await.map_err(|error| error.during(&what))?;
        let mut outcomes = BTreeMap::new();
        for topic in &response.topics {
            for answer in &topic.partitions {
                let partition = TopicPartition::new(topic.name.as_str(), answer.partition_index);
                let outcome = answer.error_code.check();
                let outcome =
                    outcome.map_err(|code| Error::answered(format!("{what}: {partition}"), code));
                outcomes.insert(partition, outcome);
            }
        }
        Ok(outcomes)
    }

    /// The committed offsets of these partitions, or of all that have one. A partition without is
    /// not in the answer.
    ///
    /// # Errors
    /// `Retry` if the coordinator cannot be reached, `Denied`.
    pub(crate) async fn committed_offsets(
        &self,
        group: &str,
        partitions: Option<&[TopicPartition]>,
    ) -> Result<BTreeMap<TopicPartition, CommittedOffset>> {
        let request = fetch_request(group, partitions);
        let ask = self.ask(Target::Coordinator(group), &request, true, |response| {
            let of_groups = response.groups.iter().map(|group| group.error_code);
            let of_partitions = entries(response).map(|entry| entry.error_code);
            asks_again(std::iter::once(response.error_code).chain(of_groups).chain(of_partitions))
        });
        let what = format!("read the offsets of group {group}");
        let response = ask.await.map_err(|error| error.during(&what))?;
        let codes = response.groups.iter().map(|group| group.error_code);
        for code in std::iter::once(response.error_code).chain(codes) {
            code.check().map_err(|code| Error::answered(&what, code))?;
        }
        let mut committed = BTreeMap::new();
        for entry in entries(&response) {
            let partition = TopicPartition::new(entry.topic.as_str(), entry.partition);
            match entry.error_code {
                ErrorCode::NONE if entry.offset < 0 => {}
                // A topic that is gone has no committed offsets.
                ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {}
                ErrorCode::NONE => {
                    let epoch = entry.leader_epoch;
                    let offset = CommittedOffset {
                        offset: Offset(entry.offset),
                        leader_epoch: (epoch >= 0).then_some(LeaderEpoch(epoch)),
                        metadata: entry.metadata.map(String::from).unwrap_or_default(),
                    };
                    committed.insert(partition, offset);
                }
                code => return Err(Error::answered(format!("{what}: {partition}"), code)),
            }
        }
        Ok(committed)
    }
}

/// The first code that a later attempt may not meet.
pub(crate) fn asks_again(codes: impl IntoIterator<Item = ErrorCode>) -> ErrorCode {
    const AGAIN: [ErrorCode; 5] = [
        ErrorCode::NOT_COORDINATOR,
        ErrorCode::COORDINATOR_NOT_AVAILABLE,
        ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode::UNSTABLE_OFFSET_COMMIT,
        ErrorCode::REQUEST_TIMED_OUT,
    ];
    codes.into_iter().find(|code| AGAIN.contains(code)).unwrap_or(ErrorCode::NONE)
}

fn commit_request(group: &str, committer: &Committer, offsets: &Offsets) -> OffsetCommitRequest {
    let mut topics: BTreeMap<&Arc<str>, Vec<OffsetCommitRequestPartition>> = BTreeMap::new();
    for (partition, offset) in offsets {
        topics.entry(&partition.topic).or_default().push(OffsetCommitRequestPartition {
            partition_index: partition.partition.0,
            committed_offset: offset.0,
            committed_leader_epoch: -1,
            committed_metadata: Some(KString::new()),
        });
    }
    let topics = topics
        .into_iter()
        .map(|(name, partitions)| OffsetCommitRequestTopic { name: (&**name).into(), partitions });
    OffsetCommitRequest {
        group_id: group.into(),
        generation_id_or_member_epoch: committer.generation,
        member_id: (&committer.member_id).into(),
        group_instance_id: committer.instance_id.as_ref().map(KString::from),
        topics: topics.collect(),
        ..OffsetCommitRequest::default()
    }
}

/// The request in both shapes: for one group and for several.
fn fetch_request(group: &str, partitions: Option<&[TopicPartition]>) -> OffsetFetchRequest {
    let by_topic = partitions.map(|partitions| {
        let mut topics: BTreeMap<&Arc<str>, Vec<i32>> = BTreeMap::new();
        for partition in partitions {
            topics.entry(&partition.topic).or_default().push(partition.partition.0);
        }
        topics
    });
    let old = by_topic.as_ref().map(|topics| {
        let topic = |(name, indexes): (&&Arc<str>, &Vec<i32>)| OffsetFetchRequestTopic {
            name: (&***name).into(),
            partition_indexes: indexes.clone(),
        };
        topics.iter().map(topic).collect()
    });
    let new = by_topic.as_ref().map(|topics| {
        let topic = |(name, indexes): (&&Arc<str>, &Vec<i32>)| OffsetFetchRequestTopics {
            name: (&***name).into(),
            partition_indexes: indexes.clone(),
        };
        topics.iter().map(topic).collect()
    });
    OffsetFetchRequest {
        group_id: group.into(),
        topics: old,
        groups: vec![OffsetFetchRequestGroup {
            group_id: group.into(),
            topics: new,
            ..OffsetFetchRequestGroup::default()
        }],
        require_stable: true,
    }
}

struct Entry<'a> {
    topic: &'a KString,
    partition: i32,
    offset: i64,
    leader_epoch: i32,
    metadata: Option<&'a KString>,
    error_code: ErrorCode,
}

/// The answer in either shape.
fn entries(response: &OffsetFetchResponse) -> impl Iterator<Item = Entry<'_>> {
    let old = response.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|one| Entry {
            topic: &topic.name,
            partition: one.partition_index,
            offset: one.committed_offset,
            leader_epoch: one.committed_leader_epoch,
            metadata: one.metadata.as_ref(),
            error_code: one.error_code,
        })
    });
    let new = response.groups.iter().flat_map(|group| &group.topics).flat_map(|topic| {
        topic.partitions.iter().map(|one| Entry {
            topic: &topic.name,
            partition: one.partition_index,
            offset: one.committed_offset,
            leader_epoch: one.committed_leader_epoch,
            metadata: one.metadata.as_ref(),
            error_code: one.error_code,
        })
    });
    old.chain(new)
}
