//! OffsetCommit: a group's positions, durable when answered.
//!
//! A retention time that old clients name (versions 2 to 4) is not kept: offsets live as long as
//! `offsets.retention.minutes` says after the group's last member has left.

use std::sync::Arc;

use tidemill_base::{LeaderEpoch, Offset, PartitionIndex, TopicId};
use tidemill_kafka::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitResponse,
    OffsetCommitResponsePartition, OffsetCommitResponseTopic,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::OffsetCommit;

use super::group_requests::may_read_group;
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::groups::Absent;
use crate::kafka_service::Context;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: OffsetCommitRequest,
) -> OffsetCommitResponse {
    let mut response = answer_all(&request, ErrorCode::NONE);
    let offsets = offsets(&broker, &context, &request, &mut response);
    match commit(&broker, &context, &request, offsets).await {
        Err(code) => answer_all(&request, code),
        Ok(codes) => {
            let accepted = response
                .topics
                .iter_mut()
                .flat_map(|topic| &mut topic.partitions)
                .filter(|partition| partition.error_code.is_ok());
            accepted.zip(codes).for_each(|(partition, code)| partition.error_code = code);
            response
        }
    }
}

async fn commit(
    broker: &Broker,
    context: &Context,
    request: &OffsetCommitRequest,
    offsets: Vec<OffsetCommit>,
) -> Result<Vec<ErrorCode>, ErrorCode> {
    if !may_read_group(broker, context, &request.group_id) {
        return Err(ErrorCode::GROUP_AUTHORIZATION_FAILED);
    }
    let generation = request.generation_id_or_member_epoch;
    let absent = if generation < 0 { Absent::Create } else { Absent::Refuse };
    let coordinator = match broker.groups.coordinator(&request.group_id, absent).await {
        Ok(coordinator) => coordinator,
        Err(ErrorCode::GROUP_ID_NOT_FOUND) => return Err(ErrorCode::ILLEGAL_GENERATION),
        Err(code) => return Err(code),
    };
    let instance_id = request.group_instance_id.as_ref();
    let committer = coordinator.committer(generation, &request.member_id, instance_id)?;
    Ok(coordinator.commit_offsets(committer, offsets).await)
}

/// The offsets of partitions that exist; the others are answered in `response`.
fn offsets(
    broker: &Broker,
    context: &Context,
    request: &OffsetCommitRequest,
    response: &mut OffsetCommitResponse,
) -> Vec<OffsetCommit> {
    let mut offsets = Vec::new();
    for (topic, answers) in request.topics.iter().zip(&mut response.topics) {
        let resolved = resolve(broker, context, &topic.name);
        for (partition, answer) in topic.partitions.iter().zip(&mut answers.partitions) {
            let index = PartitionIndex(partition.partition_index);
            match resolved {
                Ok((id, count)) if (0..count).contains(&index.0) => {
                    offsets.push(offset_commit(id, partition));
                }
                Ok(_) => answer.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
                Err(code) => answer.error_code = code,
            }
        }
    }
    offsets
}

fn resolve(broker: &Broker, context: &Context, name: &str) -> Result<(TopicId, i32), ErrorCode> {
    if !broker.is_allowed(&context.principal, Operation::Read, Resource::Topic(name)) {
        return Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    }
    let projection = broker.view.projection();
    let topic = projection.topic(name).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    Ok((topic.id, i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX)))
}

fn offset_commit(topic: TopicId, partition: &OffsetCommitRequestPartition) -> OffsetCommit {
    let leader_epoch = partition.committed_leader_epoch;
    OffsetCommit {
        topic,
        partition: PartitionIndex(partition.partition_index),
        offset: Offset(partition.committed_offset),
        leader_epoch: (leader_epoch >= 0).then_some(LeaderEpoch(leader_epoch)),
        metadata: partition.committed_metadata.as_ref().map(String::from).unwrap_or_default(),
    }
}

fn answer_all(request: &OffsetCommitRequest, error_code: ErrorCode) -> OffsetCommitResponse {
    let partition = |partition: &OffsetCommitRequestPartition| OffsetCommitResponsePartition {
        partition_index: partition.partition_index,
        error_code,
    };
    let topics = request.topics.iter().map(|topic| OffsetCommitResponseTopic {
        name: KString::clone(&topic.name),
        partitions: topic.partitions.iter().map(partition).collect(),
    });
    OffsetCommitResponse { topics: topics.collect(), ..OffsetCommitResponse::default() }
}
