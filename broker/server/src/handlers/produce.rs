//! Produce: admission at once, the answer when every batch is decided.

mod call;
mod kept;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tidemill_base::{BatchOutcome, PartitionId, TimestampMs};
use tidemill_broker_logic::admission::{self, Refused, TopicPolicy, Unpacking};
use tidemill_kafka::messages::produce::{
    PartitionProduceData, PartitionProduceResponse, ProduceRequest, ProduceResponse,
    TopicProduceData, TopicProduceResponse,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::Topic;
use tidemill_metadata_state::configs::{TimestampType, TopicConfig, Validation};
use tidemill_storage_lane::{BatchAnswer, FlushFailure, LaneClosed};
use tidemill_storage_store::{AdmittedBatch, Kept};
use tokio::sync::oneshot;
use tokio::time::Instant;

pub use self::call::BATCHES_UNDER_WAY_BYTES;
pub(crate) use self::call::Call;
use self::kept::Slices;
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;
use crate::time_search;

/// The first version that is served; older ones are listed only so that old clients compress.
const VERSION_SERVED_MIN: i16 = 3;
/// How long a client is asked to stay away when the store is full.
const THROTTLE_WHEN_FULL_MS: i32 = 500;
/// The longest a request may ask to wait.
const TIMEOUT_MS_MAX: i32 = 300_000;
/// The most batches that go to a lane together: what is submitted together becomes one object, and
/// the command that commits an object is bounded.
const SUBMISSION_BATCHES_MAX: usize = 8192;
/// The append time of a batch that keeps its own timestamps.
const NOT_STAMPED: i64 = -1;

/// A produce request whose batches are in their lane.
pub(crate) struct Admitted {
    response: ProduceResponse,
    acks: i16,
    timeout: Duration,
    /// Where each submitted batch's answer goes: topic, partition, and the append time if it is the
    /// broker's.
    places: Vec<Place>,
    /// What was submitted, in the order of `places`.
    submissions: Vec<Submitted>,
}

/// Batches that went to the lane together.
struct Submitted {
    batches: usize,
    /// Where their answers come from, or the answer to all of them.
    answers: Result<oneshot::Receiver<Vec<BatchAnswer>>, BatchAnswer>,
}

struct Place {
    topic: usize,
    partition: usize,
    /// The partition that the batch goes to.
    stored_in: PartitionId,
    append_time_ms: i64,
}

impl Place {
    /// Whether the batch was copied to be stamped with its append time.
    fn is_stamped(&self) -> bool {
        self.append_time_ms != NOT_STAMPED
    }
}

/// A partition that a request names, resolved.
struct Target {
    partition: PartitionId,
    policy: TopicPolicy,
}

impl Admitted {
    /// acks=0: the client does not listen.
    pub(crate) fn wants_no_answer(&self) -> bool {
        self.acks == 0
    }

    /// Waits until every batch is decided, or the client's time is up: then the answer is
    /// REQUEST_TIMED_OUT, which leaves open whether the batches are stored.
    pub(crate) async fn answer(mut self, broker: &Broker) -> ProduceResponse {
        let answers = self.batch_answers().await;
        for (place, answer) in self.places.iter().zip(answers) {
            if answer == BatchAnswer::Failed(FlushFailure::StoreFull) {
                self.response.throttle_time_ms = THROTTLE_WHEN_FULL_MS;
            }
            let append_time_ms = self.append_time_ms(broker, place, answer).await;
            let topic = &mut self.response.responses[place.topic];
            fill(&mut topic.partition_responses[place.partition], answer, append_time_ms);
        }
        self.response
    }

    /// One answer for each place.
    async fn batch_answers(&mut self) -> Vec<BatchAnswer> {
        let deadline = Instant::now() + self.timeout;
        let mut all = Vec::with_capacity(self.places.len());
        for Submitted { batches, answers } in self.submissions.drain(..) {
            match answers {
                Ok(answers) => match tokio::time::timeout_at(deadline, answers).await {
                    Ok(Ok(answers)) => all.extend(answers),
                    Ok(Err(_)) | Err(_) => {
                        all.extend(std::iter::repeat_n(BatchAnswer::Ambiguous, batches));
                    }
                },
                Err(answer) => all.extend(std::iter::repeat_n(answer, batches)),
            }
        }
        all
    }

    /// The append time to answer: of a duplicate that of its first append, as Kafka does.
    async fn append_time_ms(&self, broker: &Broker, place: &Place, answer: BatchAnswer) -> i64 {
        let BatchAnswer::Decided(BatchOutcome::Duplicate { base_offset, .. }) = answer else {
            return place.append_time_ms;
        };
        if !place.is_stamped() {
            return NOT_STAMPED;
        }
        let first = time_search::append_time(broker, place.stored_in, base_offset);
        let first = tokio::time::timeout(self.timeout, first).await.ok().flatten();
        first.map_or(NOT_STAMPED, |first| first.0)
    }

    /// Lets go of a frame of `frame_bytes` if its batches would keep much more alive than themselves.
    fn copy_what_keeps_too_much(&mut self, frame_bytes: usize, batches: &mut [AdmittedBatch]) {
        let mut slices = Slices::default();
        for (place, batch) in self.places.iter().zip(&*batches) {
            if !place.is_stamped() {
                slices.add(&batch.bytes);
            }
        }
        if !slices.keep_too_much(frame_bytes) {
            return;
        }
        for (place, batch) in self.places.iter().zip(batches) {
            if !place.is_stamped() {
                batch.bytes = Bytes::copy_from_slice(&batch.bytes);
            }
        }
        for topic in &mut self.response.responses {
            topic.name = topic.name.detached();
        }
    }
}

/// A produce request whose batches are judged.
struct Checked {
    admitted: Admitted,
    batches: Vec<AdmittedBatch>,
}

impl Checked {
    /// Puts the admitted batches into the lane, in order. They are slices of a frame of `frame_bytes`.
    fn submit(self, broker: &Broker, lane: usize, frame_bytes: usize, kept: &Kept) -> Admitted {
        let Self { mut admitted, mut batches } = self;
        admitted.copy_what_keeps_too_much(frame_bytes, &mut batches);
        submit(broker, lane, &mut admitted, batches, kept);
        admitted
    }
}

/// Checks every batch. `None`: more would have to be decompressed than is allowed here.
fn check(
    broker: &Broker,
    context: &Context,
    request: &ProduceRequest,
    unpacking: &mut Unpacking<'_>,
) -> Option<Checked> {
    let timeout_ms = request.timeout_ms.clamp(1, TIMEOUT_MS_MAX);
    let mut admitted = Admitted {
        response: ProduceResponse::default(),
        acks: request.acks,
        timeout: Duration::from_millis(u64::from(timeout_ms.unsigned_abs())),
        places: Vec::new(),
        submissions: Vec::new(),
    };
    let refusal = refusal_of_all(broker, context, request);
    let now = broker.clock.now();
    let mut batches = Vec::new();
    for topic in &request.topic_data {
        let targets = match refusal {
            None => resolve(broker, context, topic),
            Some(code) => topic.partition_data.iter().map(|_| Err(code)).collect(),
        };
        let mut response = TopicProduceResponse {
            name: topic.name.clone(),
            topic_id: topic.topic_id,
            partition_responses: Vec::with_capacity(topic.partition_data.len()),
        };
        for (data, target) in topic.partition_data.iter().zip(targets) {
            let (answer, batch) = admit_partition(data, target, now, unpacking)?;
            if let Some((batch, append_time_ms)) = batch {
                let topic = admitted.response.responses.len();
                let partition = response.partition_responses.len();
                let stored_in = batch.facts.partition;
                admitted.places.push(Place { topic, partition, stored_in, append_time_ms });
                batches.push(batch);
            }
            response.partition_responses.push(answer);
        }
        admitted.response.responses.push(response);
    }
    Some(Checked { admitted, batches })
}

fn refusal_of_all(
    broker: &Broker,
    context: &Context,
    request: &ProduceRequest,
) -> Option<ErrorCode> {
    if context.version < VERSION_SERVED_MIN {
        return Some(ErrorCode::UNSUPPORTED_VERSION);
    }
    if !(-1..=1).contains(&request.acks) {
        return Some(ErrorCode::INVALID_REQUIRED_ACKS);
    }
    if request.transactional_id.is_some() {
        return Some(ErrorCode::INVALID_TXN_STATE);
    }
    broker.is_space_low().then_some(ErrorCode::KAFKA_STORAGE_ERROR)
}

/// Names to ids and policies, under one look at the projection.
fn resolve(
    broker: &Broker,
    context: &Context,
    data: &TopicProduceData,
) -> Vec<Result<Target, ErrorCode>> {
    let all = |code| data.partition_data.iter().map(|_| Err(code)).collect();
    let projection = broker.view.projection();
    let by_id = context.version >= 13;
    let topic = match by_id {
        true => projection.topic_by_id(tidemill_base::TopicId(data.topic_id)),
        false => projection.topic(&data.name),
    };
    let Some(topic) = topic else {
        return all(match by_id {
            true => ErrorCode::UNKNOWN_TOPIC_ID,
            false => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        });
    };
    if !broker.is_allowed(&context.principal, Operation::Write, Resource::Topic(&topic.name)) {
        return all(ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    }
    let policy = projection.topic_config(topic.id).map_or_else(default_policy, policy);
    data.partition_data.iter().map(|partition| target(topic, partition.index, policy)).collect()
}

fn target(topic: &Topic, index: i32, policy: TopicPolicy) -> Result<Target, ErrorCode> {
    let index = usize::try_from(index).ok();
    let partition = index.and_then(|index| topic.partitions.get(index));
    partition
        .map(|partition| Target { partition: *partition, policy })
        .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
}

fn default_policy() -> TopicPolicy {
    policy(&TopicConfig::of(&BTreeMap::new(), &BTreeMap::new()))
}

fn policy(config: &TopicConfig) -> TopicPolicy {
    TopicPolicy {
        batch_bytes_max: config.message_bytes_max,
        log_append_time: config.timestamp_type == TimestampType::LogAppendTime,
        timestamp_before_max_ms: config.timestamp_before_max_ms,
        timestamp_after_max_ms: config.timestamp_after_max_ms,
        validate_records: config.validation == Validation::Records,
    }
}

/// A batch on its way, with its append time if that is the broker's.
type Passed = (AdmittedBatch, i64);

fn admit_partition(
    data: &PartitionProduceData,
    target: Result<Target, ErrorCode>,
    now: TimestampMs,
    unpacking: &mut Unpacking<'_>,
) -> Option<(PartitionProduceResponse, Option<Passed>)> {
    let mut answer =
        PartitionProduceResponse { index: data.index, ..PartitionProduceResponse::default() };
    let target = match target {
        Ok(target) => target,
        Err(code) => {
            answer.error_code = code;
            answer.base_offset = -1;
            return Some((answer, None));
        }
    };
    let nothing = Bytes::new();
    let records = data.records.as_ref().unwrap_or(&nothing);
    let admitted = admission::admit(target.partition, records, &target.policy, now, unpacking);
    match admitted {
        Ok((facts, bytes)) => {
            let append_time_ms = if target.policy.log_append_time { now.0 } else { NOT_STAMPED };
            Some((answer, Some((AdmittedBatch { facts, bytes }, append_time_ms))))
        }
        Err(Refused::NotHere) => None,
        Err(refused) => {
            answer.error_code = refused.code();
            answer.base_offset = -1;
            answer.error_message = Some(KString::from(refused.to_string()));
            Some((answer, None))
        }
    }
}

fn submit(
    broker: &Broker,
    lane: usize,
    admitted: &mut Admitted,
    mut batches: Vec<AdmittedBatch>,
    kept: &Kept,
) {
    while !batches.is_empty() {
        let rest = batches.split_off(batches.len().min(SUBMISSION_BATCHES_MAX));
        let count = batches.len();
        let submitted = match broker.lanes.get(lane) {
            Some(lane) => lane.submit_keeping(batches, Some(Arc::clone(kept))),
            None => Err(LaneClosed::Closed),
        };
        let answers = submitted.map_err(|closed| {
            BatchAnswer::Failed(match closed {
                LaneClosed::Full => FlushFailure::StoreFull,
                LaneClosed::Closed => FlushFailure::Closed,
            })
        });
        admitted.submissions.push(Submitted { batches: count, answers });
        batches = rest;
    }
}

fn fill(response: &mut PartitionProduceResponse, answer: BatchAnswer, append_time_ms: i64) {
    let stored = match answer {
        BatchAnswer::Decided(
            BatchOutcome::Committed { base_offset, log_start }
            | BatchOutcome::Duplicate { base_offset, log_start },
        ) => Ok((base_offset, log_start)),
        BatchAnswer::Decided(outcome) => Err(outcome_code(outcome)),
        BatchAnswer::Failed(failure) => Err(failure_code(failure)),
        BatchAnswer::Ambiguous => Err(ErrorCode::REQUEST_TIMED_OUT),
    };
    match stored {
        Ok((base_offset, log_start)) => {
            response.base_offset = base_offset.0;
            response.log_start_offset = log_start.0;
            response.log_append_time_ms = append_time_ms;
        }
        Err(code) => {
            response.error_code = code;
            response.base_offset = -1;
        }
    }
}

fn outcome_code(outcome: BatchOutcome) -> ErrorCode {
    match outcome {
        BatchOutcome::Committed { .. } | BatchOutcome::Duplicate { .. } => ErrorCode::NONE,
        BatchOutcome::DuplicateForgotten => ErrorCode::DUPLICATE_SEQUENCE_NUMBER,
        BatchOutcome::OutOfOrder => ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER,
        BatchOutcome::Fenced => ErrorCode::INVALID_PRODUCER_EPOCH,
        BatchOutcome::PartitionGone => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        BatchOutcome::ProducersFull => ErrorCode::NOT_ENOUGH_REPLICAS,
    }
}

/// All of these are retriable to a client; a broker that cannot store makes it look for another.
fn failure_code(failure: FlushFailure) -> ErrorCode {
    match failure {
        FlushFailure::StoreFull | FlushFailure::StoreFailed => ErrorCode::KAFKA_STORAGE_ERROR,
        FlushFailure::Fenced | FlushFailure::Closed => ErrorCode::NOT_LEADER_OR_FOLLOWER,
    }
}
