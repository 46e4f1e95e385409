//! Fetch requests and what their answers say of each partition.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tidemill_base::Offset;
use tidemill_kafka::messages::fetch::{
    FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData,
};
use tidemill_kafka::{ErrorCode, Uuid};

use crate::cluster::metadata::Metadata;
use crate::consume::assignment::{FetchPart, PartAnswer};
use crate::consume::buffer::Fetched;
use crate::consume::config::ConsumerConfig;

/// The last version that names topics; later ones carry ids.
const NAMED_UNTIL: i16 = 12;

/// The newest version in which these topics can be asked.
pub(crate) fn version_limit(metadata: &Metadata, parts: &[FetchPart]) -> i16 {
    let all_have_ids = parts.iter().all(|part| !id_of(metadata, &part.partition.topic).is_nil());
    if all_have_ids { i16::MAX } else { NAMED_UNTIL }
}

fn id_of(metadata: &Metadata, topic: &Arc<str>) -> Uuid {
    metadata.topics.get(topic).and_then(|topic| topic.id).map_or(Uuid::nil(), |id| id.0)
}

/// The request for these partitions, outside any fetch session. It carries names and ids; the
/// version decides which are written.
pub(crate) fn request(
    metadata: &Metadata,
    config: &ConsumerConfig,
    parts: &[FetchPart],
) -> FetchRequest {
    let mut topics: BTreeMap<&Arc<str>, Vec<FetchPartition>> = BTreeMap::new();
    for part in parts {
        topics.entry(&part.partition.topic).or_default().push(FetchPartition {
            partition: part.partition.partition.0,
            current_leader_epoch: part.leader_epoch,
            fetch_offset: part.offset.0,
            partition_max_bytes: signed(config.partition_fetch_bytes_max),
            ..FetchPartition::default()
        });
    }
    let topics = topics.into_iter().map(|(topic, partitions)| FetchTopic {
        topic: (&**topic).into(),
        topic_id: id_of(metadata, topic),
        partitions,
    });
    FetchRequest {
        max_wait_ms: i32::try_from(config.fetch_wait_ms_max).unwrap_or(i32::MAX),
        min_bytes: signed(config.fetch_bytes_min),
        max_bytes: signed(config.fetch_bytes_max),
        isolation_level: config.isolation_level.number(),
        topics: topics.collect(),
        ..FetchRequest::default()
    }
}

fn signed(bytes: u32) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

/// What the answer says of a partition, and its data for leader hints; a partition that is not in
/// the answer has nothing new.
pub(crate) fn answer<'a>(
    metadata: &Metadata,
    part: &FetchPart,
    response: &'a FetchResponse,
) -> (PartAnswer, Option<&'a PartitionData>) {
    let id = id_of(metadata, &part.partition.topic);
    let topic = response
        .responses
        .iter()
        .find(|topic| topic.topic == *part.partition.topic || !id.is_nil() && topic.topic_id == id);
    let index = part.partition.partition.0;
    let data =
        topic.and_then(|topic| topic.partitions.iter().find(|data| data.partition_index == index));
    let Some(data) = data else {
        let fetched = Fetched { bytes: Default::default(), aborted: VecDeque::new() };
        let answer = PartAnswer { error_code: ErrorCode::NONE, high_watermark: None, fetched };
        return (answer, None);
    };
    let aborted = data.aborted_transactions.iter().flatten();
    let mut aborted: Vec<(i64, Offset)> =
        aborted.map(|aborted| (aborted.producer_id, Offset(aborted.first_offset))).collect();
    aborted.sort_by_key(|(_, first_offset)| *first_offset);
    let bytes = data.records.as_ref().map(|records| records.to_bytes()).unwrap_or_default();
    let answer = PartAnswer {
        error_code: data.error_code,
        high_watermark: (data.high_watermark >= 0).then_some(Offset(data.high_watermark)),
        fetched: Fetched { bytes, aborted: aborted.into() },
    };
    (answer, Some(data))
}
