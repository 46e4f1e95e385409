//! OffsetForLeaderEpoch: where an epoch ends.
//!
//! A move of the named broker loses no history, so only epochs begun by creation or restore bound
//! anything: an epoch ends where the next *kept* one above it starts, else at the high watermark.

use std::sync::Arc;

use tidemill_base::{LeaderEpoch, PartitionIndex};
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::offset_for_leader_epoch::{
    EpochEndOffset, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition, OffsetForLeaderTopicResult,
};

use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: OffsetForLeaderEpochRequest,
) -> OffsetForLeaderEpochResponse {
    let mut response = OffsetForLeaderEpochResponse::default();
    for topic in request.topics {
        let resource = Resource::Topic(&topic.topic);
        let allowed = broker.is_allowed(&context.principal, Operation::Describe, resource);
        let answer = |asked: &OffsetForLeaderPartition| {
            let found = match allowed {
                true => find(&broker, &topic.topic, asked),
                false => Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
            };
            let (error_code, end_offset) = match found {
                Ok(end_offset) => (ErrorCode::NONE, end_offset),
                Err(code) => (code, None),
            };
            EpochEndOffset {
                error_code,
                partition: asked.partition,
                leader_epoch: if end_offset.is_some() { asked.leader_epoch } else { -1 },
                end_offset: end_offset.unwrap_or(-1),
            }
        };
        let partitions = topic.partitions.iter().map(answer).collect();
        response.topics.push(OffsetForLeaderTopicResult { topic: topic.topic, partitions });
    }
    response
}

fn find(
    broker: &Broker,
    topic: &str,
    asked: &OffsetForLeaderPartition,
) -> Result<Option<i64>, ErrorCode> {
    let projection = broker.view.projection();
    let view = projection
        .topic(topic)
        .and_then(|topic| projection.partition_id(topic.id, PartitionIndex(asked.partition)))
        .and_then(|id| projection.partition(id))
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    if asked.current_leader_epoch > view.leader_epoch().0 {
        return Err(ErrorCode::UNKNOWN_LEADER_EPOCH);
    }
    Ok(view.epoch_end(LeaderEpoch(asked.leader_epoch)).map(|end| end.0))
}
