//! DeleteRecords: moves log starts forward.

use std::sync::Arc;

use tidemill_base::{Offset, PartitionIndex};
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsPartitionResult, DeleteRecordsRequest,
    DeleteRecordsResponse, DeleteRecordsTopicResult, OFFSET_HIGH_WATERMARK,
};
use tidemill_metadata_state::Outcome;
use tidemill_metadata_state::command::{AdvanceLogStart, LogStartAdvance};
use tidemill_metadata_state::outcome::LogStartOutcome;

use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;
use crate::refusals::{propose, unexpected};

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse {
    let mut response = DeleteRecordsResponse::default();
    for topic in request.topics {
        let resource = Resource::Topic(&topic.name);
        let allowed = broker.is_allowed(&context.principal, Operation::Delete, resource);
        let partitions = match allowed {
            true => delete(&broker, &topic.name, &topic.partitions).await,
            false => all(&topic.partitions, ErrorCode::TOPIC_AUTHORIZATION_FAILED),
        };
        response.topics.push(DeleteRecordsTopicResult { name: topic.name, partitions });
    }
    response
}

fn all(
    asked: &[DeleteRecordsPartition],
    error_code: ErrorCode,
) -> Vec<DeleteRecordsPartitionResult> {
    let failed = |partition: &DeleteRecordsPartition| DeleteRecordsPartitionResult {
        partition_index: partition.partition_index,
        low_watermark: -1,
        error_code,
    };
    asked.iter().map(failed).collect()
}

/// One command for the partitions of a topic; each is judged on its own.
async fn delete(
    broker: &Broker,
    topic: &str,
    asked: &[DeleteRecordsPartition],
) -> Vec<DeleteRecordsPartitionResult> {
    let mut results = all(asked, ErrorCode::NONE);
    let mut advances = Vec::new();
    let mut places = Vec::new();
    for (place, partition) in asked.iter().enumerate() {
        match advance(broker, topic, partition) {
            Ok(advance) => {
                advances.push(advance);
                places.push(place);
            }
            Err(code) => results[place].error_code = code,
        }
    }
    if advances.is_empty() {
        return results;
    }
    match propose(&broker.metadata, AdvanceLogStart { advances }).await {
        Ok(Outcome::LogStarts(outcomes)) => {
            for (place, outcome) in places.into_iter().zip(outcomes) {
                fill(&mut results[place], outcome);
            }
        }
        Ok(other) => {
            let code = unexpected(&other).code;
            places.into_iter().for_each(|place| results[place].error_code = code);
        }
        Err(failure) => {
            places.into_iter().for_each(|place| results[place].error_code = failure.code);
        }
    }
    results
}

fn advance(
    broker: &Broker,
    topic: &str,
    asked: &DeleteRecordsPartition,
) -> Result<LogStartAdvance, ErrorCode> {
    let projection = broker.view.projection();
    let partition = projection
        .topic(topic)
        .and_then(|topic| projection.partition_id(topic.id, PartitionIndex(asked.partition_index)))
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    match asked.offset {
        OFFSET_HIGH_WATERMARK => Ok(LogStartAdvance { partition, to: None }),
        offset if offset >= 0 => Ok(LogStartAdvance { partition, to: Some(Offset(offset)) }),
        _ => Err(ErrorCode::OFFSET_OUT_OF_RANGE),
    }
}

fn fill(result: &mut DeleteRecordsPartitionResult, outcome: LogStartOutcome) {
    match outcome {
        LogStartOutcome::StartsAt(offset) => result.low_watermark = offset.0,
        LogStartOutcome::OutOfRange => result.error_code = ErrorCode::OFFSET_OUT_OF_RANGE,
        LogStartOutcome::PartitionGone => {
            result.error_code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        }
    }
}
