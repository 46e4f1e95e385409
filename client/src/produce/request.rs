//! Produce requests and what their answers say of each batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::{ErrorKind, Offset, TimestampMs};
use tidemill_kafka::Uuid;
use tidemill_kafka::messages::leader_hint::LeaderIdAndEpoch;
use tidemill_kafka::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceData,
};

use crate::cluster::metadata::Metadata;
use crate::error::{Error, Result};
use crate::produce::delivery::StoredBatch;
use crate::produce::sequencer::BatchId;
use crate::topic_partition::TopicPartition;

/// The last version that names topics; later ones carry ids.
const NAMED_UNTIL: i16 = 12;
/// The first version whose batches have the format that is written here.
pub(crate) const BATCHES_V2_FROM: i16 = 3;

/// A batch in a request.
#[derive(Clone, Debug)]
pub(crate) struct SentBatch {
    pub(crate) partition: TopicPartition,
    pub(crate) batch: BatchId,
}

/// What the answer says of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Answered {
    pub(crate) sent: SentBatch,
    pub(crate) result: Result<StoredBatch>,
    pub(crate) hint: Option<LeaderIdAndEpoch>,
}

/// The newest version in which these topics can be asked.
pub(crate) fn version_limit<'a>(
    metadata: &Metadata,
    batches: impl IntoIterator<Item = &'a SentBatch>,
) -> i16 {
    let mut ids = batches.into_iter().map(|sent| id_of(metadata, &sent.partition.topic));
    if ids.all(|id| !id.is_nil()) { i16::MAX } else { NAMED_UNTIL }
}

fn id_of(metadata: &Metadata, topic: &Arc<str>) -> Uuid {
    metadata.topics.get(topic).and_then(|topic| topic.id).map_or(Uuid::nil(), |id| id.0)
}

/// The request with these batches. It carries names and ids; the version decides which are written.
pub(crate) fn request(
    metadata: &Metadata,
    acks: i16,
    timeout_ms: u64,
    batches: &[(SentBatch, Bytes)],
) -> ProduceRequest {
    let mut topics: BTreeMap<&Arc<str>, Vec<PartitionProduceData>> = BTreeMap::new();
    for (sent, bytes) in batches {
        topics.entry(&sent.partition.topic).or_default().push(PartitionProduceData {
            index: sent.partition.partition.0,
            records: Some(bytes.clone()),
        });
    }
    let topic_data = topics.into_iter().map(|(topic, partition_data)| TopicProduceData {
        name: (&**topic).into(),
        topic_id: id_of(metadata, topic),
        partition_data,
    });
    ProduceRequest {
        transactional_id: None,
        acks,
        timeout_ms: i32::try_from(timeout_ms).unwrap_or(i32::MAX),
        topic_data: topic_data.collect(),
    }
}

/// What the answer says of each batch sent.
pub(crate) fn answers(
    metadata: &Metadata,
    sent: Vec<SentBatch>,
    response: &ProduceResponse,
) -> Vec<Answered> {
    let find = |sent: &SentBatch| {
        let id = id_of(metadata, &sent.partition.topic);
        let topic = response.responses.iter().find(|topic| {
            topic.name == *sent.partition.topic || !id.is_nil() && topic.topic_id == id
        })?;
        let partition = sent.partition.partition.0;
        topic.partition_responses.iter().find(|answer| answer.index == partition)
    };
    let judge = |sent: SentBatch| match find(&sent) {
        Some(answer) => judge(sent, answer),
        None => {
            let message = format!("produce to {}: the broker answered nothing", sent.partition);
            let result = Err(Error::new(ErrorKind::Ambiguous, message));
            Answered { sent, result, hint: None }
        }
    };
    sent.into_iter().map(judge).collect()
}

fn judge(sent: SentBatch, answer: &PartitionProduceResponse) -> Answered {
    let hint = (answer.current_leader.leader_id >= 0).then(|| answer.current_leader.clone());
    let result = if answer.error_code.is_ok() {
        let time = answer.log_append_time_ms;
        Ok(StoredBatch {
            base_offset: (answer.base_offset >= 0).then_some(Offset(answer.base_offset)),
            log_append_time: (time >= 0).then_some(TimestampMs(time)),
        })
    } else {
        let words = answer.error_message.as_deref();
        let what = format!("produce to {}", sent.partition);
        Err(Error::answered_saying(what, answer.error_code, words))
    };
    Answered { sent, result, hint }
}
