//! DescribeTopicPartitions: topics page by page, for tools on large clusters.

use std::sync::Arc;

use tidemill_kafka::messages::describe_topic_partitions::{
    Cursor, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::{Projection, Topic};

use super::metadata::TOPIC_OPERATIONS;
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

/// The most partitions of one page (`max.request.partition.size.limit`).
const PARTITIONS_MAX: usize = 2_000;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: DescribeTopicPartitionsRequest,
) -> DescribeTopicPartitionsResponse {
    context.take_turn(&broker).await;
    let projection = broker.view.projection();
    let may_describe = |name: &str| {
        broker.is_allowed(&context.principal, Operation::Describe, Resource::Topic(name))
    };
    let mut names: Vec<String> = match request.topics.is_empty() {
        true => projection.topics().map(|topic| topic.name.clone()).collect(),
        false => request.topics.iter().map(|topic| String::from(&topic.name)).collect(),
    };
    names.sort_unstable();
    names.dedup();
    let from = request.cursor.as_ref().map(|cursor| (&*cursor.topic_name, cursor.partition_index));
    let limit = usize::try_from(request.response_partition_limit).unwrap_or(0);
    let mut left = limit.clamp(1, PARTITIONS_MAX);
    let mut response = DescribeTopicPartitionsResponse::default();
    for name in names.iter().filter(|name| from.is_none_or(|(first, _)| name.as_str() >= first)) {
        let Some(topic) = projection.topic(name).filter(|topic| may_describe(&topic.name)) else {
            response.topics.push(unknown(name));
            continue;
        };
        let first = from.filter(|(topic, _)| topic == name).map_or(0, |(_, index)| index.max(0));
        let first = usize::try_from(first).unwrap_or(0);
        if left == 0 {
            response.next_cursor = Some(cursor(name, first));
            break;
        }
        let end = topic.partitions.len().min(first.saturating_add(left));
        response.topics.push(described(&broker, &projection, topic, first.min(end), end));
        left -= end.saturating_sub(first);
        if end < topic.partitions.len() {
            response.next_cursor = Some(cursor(name, end));
            break;
        }
    }
    response
}

fn cursor(topic: &str, partition: usize) -> Cursor {
    let partition_index = i32::try_from(partition).unwrap_or(i32::MAX);
    Cursor { topic_name: topic.into(), partition_index }
}

fn unknown(name: &str) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic {
        error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        name: Some(KString::from(name)),
        ..DescribeTopicPartitionsResponseTopic::default()
    }
}

fn described(
    broker: &Broker,
    projection: &Projection,
    topic: &Topic,
    first: usize,
    end: usize,
) -> DescribeTopicPartitionsResponseTopic {
    let node = broker.id.0;
    let partitions = (first..end).map(|index| {
        let view = projection.partition(topic.partitions[index]);
        DescribeTopicPartitionsResponsePartition {
            partition_index: i32::try_from(index).unwrap_or(i32::MAX),
            leader_id: node,
            leader_epoch: view.map_or(0, |view| view.leader_epoch().0),
            replica_nodes: vec![node],
            isr_nodes: vec![node],
            // Null is allowed on the wire, but Kafka's own client does not take it.
            eligible_leader_replicas: Some(Vec::new()),
            last_known_elr: Some(Vec::new()),
            ..DescribeTopicPartitionsResponsePartition::default()
        }
    });
    DescribeTopicPartitionsResponseTopic {
        name: Some(KString::from(&topic.name)),
        topic_id: topic.id.0,
        partitions: partitions.collect(),
        topic_authorized_operations: TOPIC_OPERATIONS,
        ..DescribeTopicPartitionsResponseTopic::default()
    }
}
