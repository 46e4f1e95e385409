//! Requests as clients build them, and records as they read them.

use bytes::Bytes;
use tidemill_base::{BaseSequence, Offset, ProducerEpoch, ProducerFacts, ProducerId, TimestampMs};
use tidemill_kafka::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use tidemill_kafka::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use tidemill_kafka::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use tidemill_kafka::messages::list_offsets::{
    ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic,
};
use tidemill_kafka::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use tidemill_kafka::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use tidemill_records::{
    BatchBuilder, Codec, Compressor, DecompressLimits, Decompressor, Records, batches,
};
use uuid::Uuid;

use crate::history::{Place, Value};

/// A batch of values.
#[must_use]
pub fn batch(values: &[Value], producer: Option<(i64, i32)>, codec: Codec) -> Bytes {
    let mut builder = BatchBuilder::new(codec);
    if let Some((id, sequence)) = producer {
        builder = builder.producer(ProducerFacts {
            id: ProducerId(id),
            epoch: ProducerEpoch(0),
            base_sequence: BaseSequence(sequence),
            transaction: 0,
        });
    }
    for value in values {
        let timestamp = TimestampMs(1_700_000_000_000);
        builder
            .append_value(timestamp, None, Some(&value.encode()))
            .expect("a few small records fit in a batch");
    }
    builder.finish(&mut Compressor::default()).expect("a batch with records can be built")
}

/// A produce request of one batch, by topic id.
#[must_use]
pub fn produce(place: Place, records: Bytes) -> ProduceRequest {
    ProduceRequest {
        acks: -1,
        timeout_ms: 7_000,
        topic_data: vec![TopicProduceData {
            topic_id: place.0,
            partition_data: vec![PartitionProduceData { index: place.1, records: Some(records) }],
            ..TopicProduceData::default()
        }],
        ..ProduceRequest::default()
    }
}

/// A fetch of one partition, by topic id.
#[must_use]
pub fn fetch(place: Place, offset: i64, max_wait_ms: i32) -> FetchRequest {
    FetchRequest {
        max_wait_ms,
        min_bytes: 1,
        max_bytes: 256 << 10,
        topics: vec![FetchTopic {
            topic_id: place.0,
            partitions: vec![FetchPartition {
                partition: place.1,
                fetch_offset: offset,
                partition_max_bytes: 64 << 10,
                ..FetchPartition::default()
            }],
            ..FetchTopic::default()
        }],
        ..FetchRequest::default()
    }
}

/// The end of one partition at a timestamp (-1 latest, -2 earliest).
#[must_use]
pub fn list_offsets(topic: &str, partition: i32, timestamp: i64) -> ListOffsetsRequest {
    ListOffsetsRequest {
        topics: vec![ListOffsetsTopic {
            name: topic.into(),
            partitions: vec![ListOffsetsPartition {
                partition_index: partition,
                timestamp,
                ..ListOffsetsPartition::default()
            }],
        }],
        ..ListOffsetsRequest::default()
    }
}

/// The metadata of one topic.
#[must_use]
pub fn metadata(topic: &str) -> MetadataRequest {
    MetadataRequest {
        topics: Some(vec![MetadataRequestTopic {
            name: Some(topic.into()),
            ..MetadataRequestTopic::default()
        }]),
        allow_auto_topic_creation: false,
        ..MetadataRequest::default()
    }
}

/// A topic to be created.
#[must_use]
pub fn create(topic: &str, partitions: i32) -> CreateTopicsRequest {
    CreateTopicsRequest {
        topics: vec![CreatableTopic {
            name: topic.into(),
            num_partitions: partitions,
            replication_factor: -1,
            ..CreatableTopic::default()
        }],
        ..CreateTopicsRequest::default()
    }
}

/// A topic to be deleted, by id.
#[must_use]
pub fn delete(id: Uuid) -> DeleteTopicsRequest {
    DeleteTopicsRequest {
        topics: vec![DeleteTopicState { topic_id: id, ..DeleteTopicState::default() }],
        ..DeleteTopicsRequest::default()
    }
}

/// The records of a fetch with their offsets.
///
/// # Errors
/// What is wrong with the bytes: a violation, whatever it is.
pub fn read(bytes: &Bytes) -> Result<Vec<(Offset, Value)>, String> {
    let mut decompressor = Decompressor::new();
    let mut values = Vec::new();
    for batch in batches(bytes) {
        let batch = batch.map_err(|error| error.to_string())?;
        batch.view().verify_crc().map_err(|error| error.to_string())?;
        let records = Records::open(batch.view(), &mut decompressor, &DecompressLimits::default())
            .map_err(|error| error.to_string())?;
        for record in records.iter() {
            let record = record.map_err(|error| error.to_string())?;
            let value = record.value.and_then(Value::decode).ok_or("a record nobody wrote")?;
            values.push((batch.header().base_offset.plus(record.offset_delta), value));
        }
    }
    Ok(values)
}
