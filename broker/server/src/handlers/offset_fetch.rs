//! OffsetFetch: the positions that groups have committed, confirmed by the metadata's leader.
//!
//! Up to version 7 one group is asked, from 8 on several. A position that was never committed is
//! answered with offset -1, also in a topic that does not exist.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidemill_base::PartitionIndex;
use tidemill_kafka::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup,
    OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::{CommittedOffset, Group, MetadataState};

use super::distinct::distinct;
use super::group_requests::is_held_by_another;
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

/// The first version with several groups.
const SEVERAL_FROM: i16 = 8;
/// The first version with an error code for the whole request.
const ERROR_FROM: i16 = 2;

/// Partitions by topic.
type Asked = Vec<(KString, Vec<i32>)>;
/// Positions by topic.
type Found = Vec<(KString, Vec<OffsetFetchResponsePartitions>)>;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: OffsetFetchRequest,
) -> OffsetFetchResponse {
    let current = broker.metadata.read_index().await.is_ok();
    context.take_turn(&broker).await;
    let fetch = |group: &str, asked: Option<Asked>| match current {
        true => fetch(&broker, &context, group, asked),
        false => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE),
    };
    if context.version < SEVERAL_FROM {
        let topics = request.topics.map(|topics| {
            topics.into_iter().map(|topic| (topic.name, topic.partition_indexes)).collect()
        });
        let asked: Option<Asked> = topics;
        let found = fetch(&request.group_id, asked.clone());
        return one_group(context.version, asked, found);
    }
    let groups = distinct(request.groups, |group| group.group_id.clone());
    let groups = groups.into_iter().map(|group| {
        let topics = group.topics.map(|topics| {
            topics.into_iter().map(|topic| (topic.name, topic.partition_indexes)).collect()
        });
        let found = fetch(&group.group_id, topics);
        let error_code = found.as_ref().err().copied().unwrap_or_default();
        let topics = found.unwrap_or_default().into_iter();
        OffsetFetchResponseGroup {
            group_id: group.group_id,
            topics: topics
                .map(|(name, partitions)| OffsetFetchResponseTopics { name, partitions })
                .collect(),
            error_code,
        }
    });
    OffsetFetchResponse { groups: groups.collect(), ..OffsetFetchResponse::default() }
}

fn fetch(
    broker: &Broker,
    context: &Context,
    group: &str,
    asked: Option<Asked>,
) -> Result<Found, ErrorCode> {
    if !broker.is_allowed(&context.principal, Operation::Describe, Resource::Group(group)) {
        return Err(ErrorCode::GROUP_AUTHORIZATION_FAILED);
    }
    if is_held_by_another(broker, group) {
        return Err(ErrorCode::NOT_COORDINATOR);
    }
    let describes = |topic: &str| {
        broker.is_allowed(&context.principal, Operation::Describe, Resource::Topic(topic))
    };
    Ok(broker.metadata.with_state(|state| {
        let known = state.group(group);
        match asked {
            Some(asked) => asked
                .into_iter()
                .map(|(topic, partitions)| {
                    let positions = positions(state, known, &topic, partitions, describes(&topic));
                    (topic, positions)
                })
                .collect(),
            None => known.map(|group| all(state, group, describes)).unwrap_or_default(),
        }
    }))
}

fn positions(
    state: &MetadataState,
    group: Option<&Group>,
    topic: &str,
    partitions: Vec<i32>,
    is_allowed: bool,
) -> Vec<OffsetFetchResponsePartitions> {
    let id = state.topic(topic).map(|topic| topic.id);
    let position = |index| {
        if !is_allowed {
            return none(index, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
        }
        let offset = id.and_then(|id| group?.offsets.get(&(id, PartitionIndex(index))));
        offset.map_or_else(|| none(index, ErrorCode::NONE), |offset| some(index, offset))
    };
    partitions.into_iter().map(position).collect()
}

/// Everything that a group has committed, in topics that may be seen.
fn all(state: &MetadataState, group: &Group, describes: impl Fn(&str) -> bool) -> Found {
    let mut found: BTreeMap<&str, Vec<OffsetFetchResponsePartitions>> = BTreeMap::new();
    for ((id, index), offset) in &group.offsets {
        let Some(topic) = state.topic_by_id(*id) else { continue };
        if describes(&topic.name) {
            found.entry(&topic.name).or_default().push(some(index.0, offset));
        }
    }
    found.into_iter().map(|(topic, positions)| (topic.into(), positions)).collect()
}

fn some(partition_index: i32, offset: &CommittedOffset) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: offset.offset.0,
        committed_leader_epoch: offset.leader_epoch.map_or(-1, |epoch| epoch.0),
        metadata: Some(KString::from(&offset.metadata)),
        error_code: ErrorCode::NONE,
    }
}

fn none(partition_index: i32, error_code: ErrorCode) -> OffsetFetchResponsePartitions {
    OffsetFetchResponsePartitions {
        partition_index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(KString::new()),
        error_code,
    }
}

/// The answer in the shape of versions up to 7. Version 1 has no code for the whole: there it stands
/// at each partition.
fn one_group(
    version: i16,
    asked: Option<Asked>,
    found: Result<Found, ErrorCode>,
) -> OffsetFetchResponse {
    let (found, error_code) = match found {
        Ok(found) => (found, ErrorCode::NONE),
        Err(code) if version < ERROR_FROM => {
            let refused = |partitions: Vec<i32>| {
                partitions.into_iter().map(|index| none(index, code)).collect()
            };
            let asked = asked.unwrap_or_default().into_iter();
            (asked.map(|(topic, partitions)| (topic, refused(partitions))).collect(), code)
        }
        Err(code) => (Found::new(), code),
    };
    let partition = |found: OffsetFetchResponsePartitions| OffsetFetchResponsePartition {
        partition_index: found.partition_index,
        committed_offset: found.committed_offset,
        committed_leader_epoch: found.committed_leader_epoch,
        metadata: found.metadata,
        error_code: found.error_code,
    };
    let topics = found.into_iter().map(|(name, partitions)| OffsetFetchResponseTopic {
        name,
        partitions: partitions.into_iter().map(partition).collect(),
    });
    OffsetFetchResponse { topics: topics.collect(), error_code, ..OffsetFetchResponse::default() }
}
