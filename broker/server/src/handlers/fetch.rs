//! Fetch: whole batches of many partitions, with sessions (KIP-227) and waiting without polling.

mod checkout;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tidemill_base::{Offset, PartitionId, PartitionIndex, TopicId};
use tidemill_broker_logic::fetch::{FetchTarget, SessionError, SessionPartition, TopicRef};
use tidemill_kafka::messages::fetch::{
    EpochEndOffset, FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData,
};
use tidemill_kafka::{ErrorCode, RecordParts};
use tokio::time::Instant;

use self::checkout::{Checkout, check_out};
use super::pace::{Pace, STRIDE};
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;
use crate::log_reads::{Bounds, ReadSpec};

/// The most a fetch may ask to wait.
const WAIT_MS_MAX: i32 = 60_000;
/// The most bytes of one answer, whatever the client asks.
const RESPONSE_BYTES_MAX: usize = 8 << 20;
/// An answer of which no more than one part in so many is left is full: to look for batches small
/// enough to fit would cost more than they are worth, with many partitions several times the answer.
const LEFT_IS_NOTHING: usize = 32;
/// How long a client is asked to stay away when others fetch so many partitions that there is no place
/// for as many as it asks for.
const THROTTLE_WITHOUT_PLACE_MS: i32 = 100;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: FetchRequest,
) -> FetchResponse {
    let deadline = Instant::now() + Duration::from_millis(wait_ms(&request));
    let limits = Limits {
        bytes_max: usize::try_from(request.max_bytes).unwrap_or(0).min(RESPONSE_BYTES_MAX),
        bytes_min: u64::try_from(request.min_bytes).unwrap_or(0),
    };
    let checkout = match check_out(&broker, &context, request).await {
        Ok(checkout) => checkout,
        Err(error) => return session_error(error),
    };
    context.holdings.request_is_gone();
    let mut fetching = Fetching { broker: &broker, context: &context, checkout, limits };
    let partitions = fetching.run(deadline).await;
    let checkout = fetching.checkout;
    let response = FetchResponse {
        session_id: checkout.id(),
        responses: by_topic(&checkout.session.partitions, partitions),
        ..FetchResponse::default()
    };
    checkout.check_in();
    response
}

struct Limits {
    bytes_max: usize,
    bytes_min: u64,
}

impl Limits {
    /// What may still be read after `taken` bytes.
    fn bytes_left(&self, taken: usize) -> usize {
        let left = self.bytes_max.saturating_sub(taken);
        if taken > 0 && left <= self.bytes_max / LEFT_IS_NOTHING { 0 } else { left }
    }
}

/// A fetch under way.
struct Fetching<'a> {
    broker: &'a Arc<Broker>,
    context: &'a Context,
    checkout: Checkout,
    limits: Limits,
}

/// The answers of one pass: by place in the session, and what they amount to.
#[derive(Default)]
struct Pass {
    answers: Vec<(usize, PartitionData)>,
    bytes: usize,
    records_count: u64,
    /// Something other than records has to be told at once.
    is_urgent: bool,
}

fn wait_ms(request: &FetchRequest) -> u64 {
    u64::from(request.max_wait_ms.clamp(0, WAIT_MS_MAX).unsigned_abs())
}

/// Whatever the code, a client that gets one for the whole fetch lists all its partitions next.
fn session_error(error: SessionError) -> FetchResponse {
    let (error_code, throttle_time_ms) = match error {
        SessionError::NotFound => (ErrorCode::FETCH_SESSION_ID_NOT_FOUND, 0),
        SessionError::InvalidEpoch => (ErrorCode::INVALID_FETCH_SESSION_EPOCH, 0),
        SessionError::TooMany => (ErrorCode::INVALID_REQUEST, THROTTLE_WITHOUT_PLACE_MS),
        SessionError::NoPlace => (ErrorCode::THROTTLING_QUOTA_EXCEEDED, THROTTLE_WITHOUT_PLACE_MS),
    };
    FetchResponse { error_code, throttle_time_ms, ..FetchResponse::default() }
}

impl Fetching<'_> {
    /// Reads until there is enough, or something to tell at once, or the time is up.
    ///
    /// Limits may leave less room than is called enough. So what a pass finds although enough is there
    /// is the answer; to look again would find the same.
    async fn run(&mut self, deadline: Instant) -> Vec<(usize, PartitionData)> {
        let mut is_there = false;
        loop {
            let pass = self.pass().await;
            let enough = pass.bytes as u64 >= self.limits.bytes_min;
            let enough = enough || (is_there && pass.bytes > 0);
            if enough || pass.is_urgent || Instant::now() >= deadline {
                return self.remember(pass);
            }
            let waiting_for = self.partitions();
            let missing = self.limits.bytes_min - pass.bytes as u64;
            // What was read is read again then; a fetch that waits holds no memory.
            drop(pass);
            let mut wait = self.broker.view.wait(waiting_for, missing);
            // What was appended between the pass and the registration is not announced again.
            is_there = self.available_bytes().await >= self.limits.bytes_min;
            if is_there {
                continue;
            }
            if tokio::time::timeout_at(deadline, wait.due()).await.is_err() {
                let pass = self.pass().await;
                return self.remember(pass);
            }
        }
    }

    /// The partitions that exist.
    fn partitions(&self) -> Vec<PartitionId> {
        let partitions = self.checkout.session.partitions.iter();
        partitions.filter_map(|partition| partition.resolved.map(|(_, id)| id)).collect()
    }

    /// How many bytes could be read now, counted up to what is needed.
    async fn available_bytes(&self) -> u64 {
        let mut bytes: u64 = 0;
        for (number, partitions) in self.checkout.session.partitions.chunks(STRIDE).enumerate() {
            if number > 0 {
                tokio::task::yield_now().await;
            }
            bytes = bytes.saturating_add(self.available_bytes_of(partitions));
        }
        bytes
    }

    fn available_bytes_of(&self, partitions: &[SessionPartition]) -> u64 {
        let projection = self.broker.view.projection();
        let mut bytes = 0;
        for partition in partitions {
            let Some((_, id)) = partition.resolved else { continue };
            let Some(view) = projection.partition(id) else { return u64::MAX };
            let offset = Offset(partition.target.fetch_offset);
            if offset < view.high_watermark() {
                bytes += view.bytes_from(offset, self.limits.bytes_min);
            }
        }
        bytes
    }

    /// One look at every partition, beginning where the last answer ended.
    async fn pass(&mut self) -> Pass {
        let mut pass = Pass::default();
        let mut pace = Pace::default();
        self.resolve_all().await;
        let count = self.checkout.session.partitions.len();
        for step in 0..count {
            let index = (self.checkout.session.first + step) % count;
            let (data, records_count) = self.read(index, &pass).await;
            pass.records_count += records_count;
            pass.bytes += data.records.as_ref().map_or(0, RecordParts::len);
            pass.is_urgent |= data.error_code.is_error() || data.diverging_epoch.epoch >= 0;
            if self.is_worth_telling(index, &data) {
                pass.answers.push((index, data));
            }
            pace.step().await;
        }
        pass
    }

    /// An incremental answer names only what has records, an error, or new bounds.
    fn is_worth_telling(&self, index: usize, data: &PartitionData) -> bool {
        let sent = &self.checkout.session.partitions[index];
        !self.checkout.is_incremental
            || data.records.as_ref().is_some_and(|records| !records.is_empty())
            || data.error_code.is_error()
            || sent.sent_error
            || data.diverging_epoch.epoch >= 0
            || data.high_watermark != sent.sent_high_watermark
            || data.log_start_offset != sent.sent_log_start
    }

    /// Notes and counts what is told, and where the next answer begins.
    fn remember(&mut self, pass: Pass) -> Vec<(usize, PartitionData)> {
        let fetched = &self.broker.request_metrics.records_fetched;
        fetched.fetch_add(pass.records_count, Ordering::Relaxed);
        let session = &mut self.checkout.session;
        let mut last_with_records = None;
        for (index, data) in &pass.answers {
            let partition = &mut session.partitions[*index];
            partition.sent_high_watermark = data.high_watermark;
            partition.sent_log_start = data.log_start_offset;
            partition.sent_error = data.error_code.is_error();
            if data.records.as_ref().is_some_and(|records| !records.is_empty()) {
                last_with_records = Some(*index);
            }
        }
        if let Some(last) = last_with_records {
            session.first = (last + 1) % session.partitions.len();
        }
        pass.answers
    }

    /// Resolves topics to partitions, unless that was done since topics last changed.
    async fn resolve_all(&mut self) {
        let version = self.broker.view.topology_version();
        let stale = |p: &SessionPartition| p.resolved.is_none_or(|(at, _)| at != version);
        if !self.checkout.session.partitions.iter().any(stale) {
            return;
        }
        let partitions = self.checkout.session.partitions.chunks_mut(STRIDE).enumerate();
        for (number, partitions) in partitions {
            if number > 0 {
                tokio::task::yield_now().await;
            }
            resolve(self.broker, self.context, partitions);
        }
    }

    /// Reads a partition, and counts the records read.
    async fn read(&self, index: usize, pass: &Pass) -> (PartitionData, u64) {
        let partition = &self.checkout.session.partitions[index];
        let target = &partition.target;
        let Some((_, id)) = partition.resolved else {
            return (failed(target, unknown_code(target), None), 0);
        };
        let Some(bounds) = self.broker.reads.bounds(id) else {
            return (failed(target, unknown_code(target), None), 0);
        };
        if target.current_leader_epoch > bounds.leader_epoch.0 {
            return (failed(target, ErrorCode::UNKNOWN_LEADER_EPOCH, Some(bounds)), 0);
        }
        if let Some(diverging) = self.diverging(id, target) {
            let data = failed(target, ErrorCode::NONE, Some(bounds));
            return (PartitionData { diverging_epoch: diverging, ..data }, 0);
        }
        let left = self.limits.bytes_left(pass.bytes);
        let spec = ReadSpec {
            partition: id,
            offset: Offset(target.fetch_offset),
            bytes_max: usize::try_from(target.partition_max_bytes).unwrap_or(0).min(left),
            at_least_one: pass.bytes == 0,
        };
        match self.broker.reads.read(spec).await {
            Ok(read) => {
                let answer = failed(target, ErrorCode::NONE, Some(read.bounds));
                (PartitionData { records: Some(read.records), ..answer }, read.records_count)
            }
            Err(code) => (failed(target, code, Some(bounds)), 0),
        }
    }

    /// Where the client's history leaves this one, if it names an epoch and offset that do not
    /// belong together here (KIP-595).
    fn diverging(&self, id: PartitionId, target: &FetchTarget) -> Option<EpochEndOffset> {
        if target.last_fetched_epoch < 0 {
            return None;
        }
        let projection = self.broker.view.projection();
        let view = projection.partition(id)?;
        let epoch = tidemill_base::LeaderEpoch(target.last_fetched_epoch);
        let end_offset = view.epoch_end(epoch).map_or(-1, |end| end.0);
        (end_offset < target.fetch_offset)
            .then_some(EpochEndOffset { epoch: target.last_fetched_epoch, end_offset })
    }
}

fn resolve(broker: &Broker, context: &Context, partitions: &mut [SessionPartition]) {
    let version = broker.view.topology_version();
    let projection = broker.view.projection();
    for partition in partitions {
        let topic = match &partition.target.topic {
            TopicRef::Id(id) => projection.topic_by_id(TopicId(*id)),
            TopicRef::Name(name) => projection.topic(name),
        };
        let topic = topic.filter(|topic| {
            let resource = Resource::Topic(&topic.name);
            broker.is_allowed(&context.principal, Operation::Read, resource)
        });
        let index = PartitionIndex(partition.target.partition);
        partition.resolved = topic
            .and_then(|topic| projection.partition_id(topic.id, index))
            .map(|id| (version, id));
    }
}

fn unknown_code(target: &FetchTarget) -> ErrorCode {
    match target.topic {
        TopicRef::Id(_) => ErrorCode::UNKNOWN_TOPIC_ID,
        TopicRef::Name(_) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    }
}

/// An answer without records: an error, or only where the partition stands.
fn failed(target: &FetchTarget, error_code: ErrorCode, bounds: Option<Bounds>) -> PartitionData {
    PartitionData {
        partition_index: target.partition,
        error_code,
        high_watermark: bounds.map_or(-1, |bounds| bounds.high_watermark.0),
        last_stable_offset: bounds.map_or(-1, |bounds| bounds.last_stable_offset.0),
        log_start_offset: bounds.map_or(-1, |bounds| bounds.log_start.0),
        ..PartitionData::default()
    }
}

/// Groups answers by topic, keeping their order within it.
fn by_topic(
    partitions: &[SessionPartition],
    answers: Vec<(usize, PartitionData)>,
) -> Vec<FetchableTopicResponse> {
    let mut topics: Vec<(&TopicRef, FetchableTopicResponse)> = Vec::new();
    for (index, data) in answers {
        let topic = &partitions[index].target.topic;
        if topics.last().is_none_or(|(last, _)| *last != topic) {
            let mut response = FetchableTopicResponse::default();
            match topic {
                TopicRef::Name(name) => response.topic = name.clone(),
                TopicRef::Id(id) => response.topic_id = *id,
            }
            topics.push((topic, response));
        }
        if let Some((_, response)) = topics.last_mut() {
            response.partitions.push(data);
        }
    }
    topics.into_iter().map(|(_, response)| response).collect()
}
