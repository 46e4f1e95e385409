//! Requests that several suites send, over a [`Wire`], each with a version that every broker has.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use tidemill_base::TimestampMs;
use tidemill_kafka::messages::api_versions::{ApiVersionsRequest, ApiVersionsResponse};
use tidemill_kafka::messages::create_topics::{
    CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use tidemill_kafka::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic, OFFSET_HIGH_WATERMARK,
};
use tidemill_kafka::messages::fetch::{FetchPartition, FetchRequest, FetchTopic, PartitionData};
use tidemill_kafka::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData,
};
use tidemill_kafka::{ErrorCode, KString};

use crate::wire::Wire;

/// The version in which produce requests are sent.
pub const PRODUCE_VERSION: i16 = 9;
/// The version in which fetch requests are sent.
pub const FETCH_VERSION: i16 = 12;
const CREATE_TOPICS_VERSION: i16 = 5;
const DELETE_RECORDS_VERSION: i16 = 2;

/// Asks what is served, which every broker answers at once.
///
/// # Errors
/// There is no answer, or it is an error.
pub fn api_versions(wire: &mut Wire) -> Result<ApiVersionsResponse> {
    let response = wire.call(&ApiVersionsRequest::default(), 0)?;
    ensure!(response.error_code.is_ok(), "ApiVersions: {}", response.error_code);
    Ok(response)
}

/// Creates a topic, unless it is there.
///
/// # Errors
/// The broker refuses it.
pub fn create_topic(
    wire: &mut Wire,
    name: &str,
    partitions: i32,
    configs: &[(&str, &str)],
) -> Result<()> {
    let configs = configs.iter().map(|(name, value)| CreatableTopicConfig {
        name: KString::from(*name),
        value: Some(KString::from(*value)),
    });
    let topic = CreatableTopic {
        name: KString::from(name),
        num_partitions: partitions,
        replication_factor: -1,
        configs: configs.collect(),
        ..Default::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
    let response = wire.call(&request, CREATE_TOPICS_VERSION)?;
    let answer = response.topics.first().context("an answer without a topic")?;
    match answer.error_code {
        ErrorCode::NONE | ErrorCode::TOPIC_ALREADY_EXISTS => Ok(()),
        code => bail!("create topic {name}: {code}"),
    }
}

/// A produce request with one batch, or what is to be taken for one.
#[must_use]
pub fn produce_request(topic: &str, partition: i32, records: Option<Bytes>) -> ProduceRequest {
    ProduceRequest {
        transactional_id: None,
        acks: -1,
        timeout_ms: 10_000,
        topic_data: vec![TopicProduceData {
            name: KString::from(topic),
            partition_data: vec![PartitionProduceData { index: partition, records }],
            ..Default::default()
        }],
    }
}

/// Sends a produce request with one partition and answers what became of it.
///
/// # Errors
/// There is no answer, or one without that partition.
pub fn produce(wire: &mut Wire, request: &ProduceRequest) -> Result<PartitionProduceResponse> {
    let response = wire.call(request, PRODUCE_VERSION)?;
    let topic = response.responses.into_iter().next().context("an answer without a topic")?;
    topic.partition_responses.into_iter().next().context("an answer without a partition")
}

/// A fetch of one partition that waits for nothing.
#[must_use]
pub fn fetch_request(topic: &str, partition: i32, offset: i64, bytes_max: i32) -> FetchRequest {
    FetchRequest {
        max_wait_ms: 100,
        min_bytes: 0,
        max_bytes: bytes_max,
        topics: vec![FetchTopic {
            topic: KString::from(topic),
            partitions: vec![FetchPartition {
                partition,
                fetch_offset: offset,
                partition_max_bytes: bytes_max,
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Sends a fetch of one partition.
///
/// # Errors
/// There is no answer, one for another partition, or an error for the whole request.
pub fn fetch(wire: &mut Wire, request: &FetchRequest) -> Result<PartitionData> {
    let response = wire.call(request, FETCH_VERSION)?;
    ensure!(response.error_code.is_ok(), "fetch: {}", response.error_code);
    let topic = response.responses.into_iter().next().context("an answer without a topic")?;
    topic.partitions.into_iter().next().context("an answer without a partition")
}

/// Deletes all records of a partition and answers where it begins now.
///
/// # Errors
/// The broker refuses it.
pub fn delete_all_records(wire: &mut Wire, topic: &str, partition: i32) -> Result<i64> {
    let offset = OFFSET_HIGH_WATERMARK;
    let request = DeleteRecordsRequest {
        topics: vec![DeleteRecordsTopic {
            name: KString::from(topic),
            partitions: vec![DeleteRecordsPartition { partition_index: partition, offset }],
        }],
        timeout_ms: 10_000,
    };
    let response = wire.call(&request, DELETE_RECORDS_VERSION)?;
    let topic = response.topics.first().context("an answer without a topic")?;
    let answer = topic.partitions.first().context("an answer without a partition")?;
    ensure!(answer.error_code.is_ok(), "delete records: {}", answer.error_code);
    Ok(answer.low_watermark)
}

/// The time, for records: old ones would be deleted by retention.
#[must_use]
pub fn now() -> TimestampMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    TimestampMs(since.map_or(0, |since| since.as_millis() as i64))
}
