//! ListOffsets: ends of the log, and offsets by time.
//!
//! A timestamp is answered with the first record *in offset order* whose timestamp reaches it;
//! timestamps need not be sorted. The end of the log is confirmed by the metadata's leader. A partition
//! that is named twice is refused, as in Kafka: to look for times may take long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidemill_base::{Offset, PartitionId, PartitionIndex, TimestampMs};
use tidemill_kafka::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse, TIMESTAMP_EARLIEST, TIMESTAMP_EARLIEST_LOCAL, TIMESTAMP_LATEST,
    TIMESTAMP_LATEST_TIERED, TIMESTAMP_MAX,
};
use tidemill_kafka::{ErrorCode, KString};

use super::pace::Pace;
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;
use crate::log_reads::Bounds;
use crate::time_search;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: ListOffsetsRequest,
) -> ListOffsetsResponse {
    let current = broker.metadata.read_index().await.is_ok();
    let committed = request.isolation_level == 1;
    let mut pace = Pace::default();
    let repeated = named_twice(&request, &mut pace).await;
    let mut response = ListOffsetsResponse::default();
    for topic in request.topics {
        let allowed = broker.is_allowed(
            &context.principal,
            Operation::Describe,
            Resource::Topic(&topic.name),
        );
        let repeated = repeated.get(&topic.name);
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for asked in &topic.partitions {
            let is_repeated = || repeated.is_some_and(|them| them.contains(&asked.partition_index));
            let answer = match (allowed, current) {
                (false, _) => Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
                (true, _) if is_repeated() => Err(ErrorCode::INVALID_REQUEST),
                (true, false) => Err(ErrorCode::LEADER_NOT_AVAILABLE),
                (true, true) => find(&broker, &topic.name, asked, committed).await,
            };
            pace.step().await;
            partitions.push(answer.unwrap_or_else(|error_code| ListOffsetsPartitionResponse {
                partition_index: asked.partition_index,
                error_code,
                ..ListOffsetsPartitionResponse::default()
            }));
        }
        response.topics.push(ListOffsetsTopicResponse { name: topic.name, partitions });
    }
    response
}

/// The partitions that a request names more than once, by topic.
async fn named_twice(
    request: &ListOffsetsRequest,
    pace: &mut Pace,
) -> BTreeMap<KString, BTreeSet<i32>> {
    let mut once: BTreeMap<&KString, BTreeSet<i32>> = BTreeMap::new();
    let mut twice: BTreeMap<KString, BTreeSet<i32>> = BTreeMap::new();
    for topic in &request.topics {
        let once = once.entry(&topic.name).or_default();
        let mut again = BTreeSet::new();
        for partition in &topic.partitions {
            if !once.insert(partition.partition_index) {
                again.insert(partition.partition_index);
            }
            pace.step().await;
        }
        if !again.is_empty() {
            twice.entry(topic.name.clone()).or_default().extend(again);
        }
    }
    twice
}

async fn find(
    broker: &Broker,
    topic: &str,
    asked: &ListOffsetsPartition,
    committed: bool,
) -> Result<ListOffsetsPartitionResponse, ErrorCode> {
    let partition = resolve(broker, topic, asked.partition_index)?;
    let bounds = broker.reads.bounds(partition).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    if asked.current_leader_epoch > bounds.leader_epoch.0 {
        return Err(ErrorCode::UNKNOWN_LEADER_EPOCH);
    }
    let end = if committed { bounds.last_stable_offset } else { bounds.high_watermark };
    match asked.timestamp {
        TIMESTAMP_LATEST => Ok(answer(asked, bounds, end, -1)),
        TIMESTAMP_EARLIEST | TIMESTAMP_EARLIEST_LOCAL => {
            Ok(answer(asked, bounds, bounds.log_start, -1))
        }
        TIMESTAMP_LATEST_TIERED => Ok(nothing(asked)),
        TIMESTAMP_MAX => {
            let found = time_search::latest_timestamp(broker, partition).await?;
            Ok(found.map_or_else(|| nothing(asked), |f| answer(asked, bounds, f.0, f.1.0)))
        }
        timestamp if timestamp >= 0 => {
            let found = time_search::first_at(broker, partition, TimestampMs(timestamp)).await?;
            let found = found.filter(|(offset, _)| *offset < end);
            Ok(found.map_or_else(|| nothing(asked), |f| answer(asked, bounds, f.0, f.1.0)))
        }
        _ => Err(ErrorCode::UNSUPPORTED_VERSION),
    }
}

fn resolve(broker: &Broker, topic: &str, index: i32) -> Result<PartitionId, ErrorCode> {
    let projection = broker.view.projection();
    let topic = projection.topic(topic).ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    projection
        .partition_id(topic.id, PartitionIndex(index))
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
}

fn answer(
    asked: &ListOffsetsPartition,
    bounds: Bounds,
    offset: Offset,
    timestamp: i64,
) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse {
        partition_index: asked.partition_index,
        timestamp,
        offset: offset.0,
        leader_epoch: bounds.leader_epoch.0,
        ..ListOffsetsPartitionResponse::default()
    }
}

fn nothing(asked: &ListOffsetsPartition) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse {
        partition_index: asked.partition_index,
        ..ListOffsetsPartitionResponse::default()
    }
}
