//! OffsetDelete: forgets positions in topics to which no member subscribes.

use std::sync::Arc;

use tidemill_base::{PartitionIndex, TopicId};
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestTopic, OffsetDeleteResponse,
    OffsetDeleteResponsePartition, OffsetDeleteResponseTopic,
};

use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::groups::{Absent, Coordinator};
use crate::kafka_service::Context;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: OffsetDeleteRequest,
) -> OffsetDeleteResponse {
    match delete(&broker, &context, &request).await {
        Ok(topics) => OffsetDeleteResponse { topics, ..OffsetDeleteResponse::default() },
        Err(error_code) => OffsetDeleteResponse { error_code, ..OffsetDeleteResponse::default() },
    }
}

async fn delete(
    broker: &Broker,
    context: &Context,
    request: &OffsetDeleteRequest,
) -> Result<Vec<OffsetDeleteResponseTopic>, ErrorCode> {
    let group = &request.group_id;
    if !broker.is_allowed(&context.principal, Operation::Delete, Resource::Group(group)) {
        return Err(ErrorCode::GROUP_AUTHORIZATION_FAILED);
    }
    let coordinator = broker.groups.coordinator(group, Absent::Refuse).await?;
    let mut partitions = Vec::new();
    let mut answers = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let resolved = resolve(broker, context, &coordinator, topic)?;
        answers.push(OffsetDeleteResponseTopic {
            name: topic.name.clone(),
            partitions: answer(topic, resolved.err().unwrap_or_default()),
        });
        if let Ok(id) = resolved {
            let indexes = topic.partitions.iter();
            partitions.extend(indexes.map(|p| (id, PartitionIndex(p.partition_index))));
        }
    }
    let codes = coordinator.delete_offsets(&partitions).await;
    let accepted = answers
        .iter_mut()
        .flat_map(|topic| &mut topic.partitions)
        .filter(|partition| partition.error_code.is_ok());
    accepted.zip(codes).for_each(|(partition, code)| partition.error_code = code);
    Ok(answers)
}

/// The topic whose offsets may go, or the code for its partitions. The outer error is the group's.
fn resolve(
    broker: &Broker,
    context: &Context,
    coordinator: &Coordinator,
    topic: &OffsetDeleteRequestTopic,
) -> Result<Result<TopicId, ErrorCode>, ErrorCode> {
    let subscribes = coordinator.subscribes_to(&topic.name)?;
    if !broker.is_allowed(&context.principal, Operation::Read, Resource::Topic(&topic.name)) {
        return Ok(Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    }
    let known = broker.view.projection().topic(&topic.name).map(|topic| topic.id);
    Ok(match known {
        None => Err(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        Some(_) if subscribes => Err(ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC),
        Some(id) => Ok(id),
    })
}

fn answer(
    topic: &OffsetDeleteRequestTopic,
    error_code: ErrorCode,
) -> Vec<OffsetDeleteResponsePartition> {
    let answer = |partition_index| OffsetDeleteResponsePartition { partition_index, error_code };
    topic.partitions.iter().map(|partition| answer(partition.partition_index)).collect()
}
