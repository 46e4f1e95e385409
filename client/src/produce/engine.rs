//! The engine of a producer (pure): which batch goes where and when, and what answers mean.
//!
//! [`Engine::append`] puts records into batches, [`Engine::poll`] says what is to be done now,
//! [`Engine::settle`] takes an answer. Time comes as milliseconds on any clock that does not go
//! back; brokers and leaders come as a [`View`].
//!
//! - A request holds at most one batch of a partition.
//! - A batch that was never sent and one that certainly was not stored expire as `Retry`, one that
//!   may have been stored as `Ambiguous`; a batch that is on its way does not expire.
//! - What waits for metadata, an identity or a broker asks for it once and then no more often than
//!   the backoff allows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidemill_base::{BrokerId, ErrorKind, ProducerFacts};
use tidemill_records::{BatchBuilder, Codec, NewRecord, RecordsError};

use crate::backoff::Backoff;
use crate::error::Error;
use crate::prng::Prng;
use crate::produce::queue::{Appended, PartitionQueue};
use crate::produce::sequencer::{BatchId, Identity, Reset, Verdict};
use crate::topic_partition::TopicPartition;

/// What the engine goes by.
#[derive(Clone, Debug)]
pub(crate) struct EngineConfig {
    pub(crate) codec: Codec,
    pub(crate) batch_bytes_max: usize,
    pub(crate) request_bytes_max: usize,
    pub(crate) linger_ms: u64,
    pub(crate) delivery_timeout_ms: u64,
    pub(crate) partition_in_flight_max: usize,
    pub(crate) idempotent: bool,
    pub(crate) backoff: Backoff,
}

/// A broker, as the engine needs to know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BrokerState {
    /// There is no connection, and none is being made.
    Away,
    /// A connection is being made, or all places of the connection are taken.
    Busy,
    /// A request can be sent at once.
    Ready,
}

/// The world, as the engine needs to know it.
pub(crate) trait View {
    /// The broker that leads a partition, if it is known.
    fn leader(&self, partition: &TopicPartition) -> Option<BrokerId>;
    /// A broker.
    fn broker(&self, broker: BrokerId) -> BrokerState;
}

/// A batch in a request.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) partition: TopicPartition,
    pub(crate) batch: BatchId,
    /// What it must carry.
    pub(crate) facts: Option<ProducerFacts>,
    /// Its records, when it is sent for the first time.
    pub(crate) builder: Option<BatchBuilder>,
}

/// A thing to do.
#[derive(Debug)]
pub(crate) enum Action {
    /// Ask for a producer id; then call [`Engine::identified`].
    ObtainIdentity,
    /// Read the metadata of these topics.
    RefreshMetadata(Vec<Arc<str>>),
    /// Connect to a broker.
    Connect(BrokerId),
    /// Send batches to a broker; then call [`Engine::settle`] for each.
    Send(BrokerId, Vec<Part>),
    /// Tell that a batch is given up.
    Fail(BatchId, Error),
}

/// What is to be done, and when to ask again if nothing happens before.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) actions: Vec<Action>,
    pub(crate) wake_at_ms: Option<u64>,
}

impl Plan {
    fn wake_at(&mut self, at_ms: u64) {
        self.wake_at_ms = Some(self.wake_at_ms.map_or(at_ms, |wake| wake.min(at_ms)));
    }
}

#[derive(Clone, PartialEq, Debug)]
enum IdentityState {
    NotNeeded,
    Missing,
    Asked,
    Known(Identity),
    Refused(Error),
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Engine {
    config: EngineConfig,
    identity: IdentityState,
    identity_failures: u32,
    identity_retry_at_ms: u64,
    queues: BTreeMap<TopicPartition, PartitionQueue>,
    /// The partitions whose queues are not idle.
    active: BTreeSet<TopicPartition>,
    /// Where the last poll began, so that no partition is always the last.
    cursor: Option<TopicPartition>,
    /// Topics whose metadata an answer has put in doubt.
    doubtful: BTreeSet<Arc<str>>,
    metadata_retry_at_ms: u64,
    next_batch: u64,
    prng: Prng,
}

impl Engine {
    /// An engine with nothing to do.
    pub(crate) fn new(config: EngineConfig, seed: u64) -> Self {
        let identity =
            if config.idempotent { IdentityState::Missing } else { IdentityState::NotNeeded };
        Self {
            config,
            identity,
            identity_failures: 0,
            identity_retry_at_ms: 0,
            queues: BTreeMap::new(),
            active: BTreeSet::new(),
            cursor: None,
            doubtful: BTreeSet::new(),
            metadata_retry_at_ms: 0,
            next_batch: 0,
            prng: Prng::new(seed),
        }
    }

    /// Appends a record.
    ///
    /// # Errors
    /// [`RecordsError::RecordTooLarge`] beyond 2 GiB.
    pub(crate) fn append(
        &mut self,
        now_ms: u64,
        partition: &TopicPartition,
        record: &NewRecord<'_>,
    ) -> Result<Appended, RecordsError> {
        if !self.active.contains(partition) {
            self.active.insert(partition.clone());
        }
        let queue = match self.queues.get_mut(partition) {
            Some(queue) => queue,
            None => self.queues.entry(partition.clone()).or_default(),
        };
        let EngineConfig { codec, batch_bytes_max, .. } = self.config;
        queue.append(now_ms, record, codec, batch_bytes_max, &mut self.next_batch)
    }

    /// Lets all open batches go at once.
    pub(crate) fn flush(&mut self) {
        for partition in &self.active {
            if let Some(queue) = self.queues.get_mut(partition) {
                queue.close();
            }
        }
    }

    /// Why the producer can do nothing any more, if so.
    pub(crate) fn refusal(&self) -> Option<&Error> {
        match &self.identity {
            IdentityState::Refused(error) => Some(error),
            _ => None,
        }
    }

    /// Takes the answer to [`Action::ObtainIdentity`].
    pub(crate) fn identified(&mut self, now_ms: u64, result: Result<Identity, Error>) {
        self.identity = match result {
            Ok(identity) => {
                self.identity_failures = 0;
                IdentityState::Known(identity)
            }
            Err(error) if error.may_repeat(true) => {
                self.identity_failures += 1;
                let backoff = self.config.backoff;
                let wait_ms = backoff.wait_ms(self.identity_failures, &mut self.prng);
                self.identity_retry_at_ms = now_ms + wait_ms;
                IdentityState::Missing
            }
            Err(error) => IdentityState::Refused(error),
        };
    }

    /// Takes the answer to a batch, and says what the batch's records are to be told, if it is
    /// settled.
    pub(crate) fn settle(
        &mut self,
        now_ms: u64,
        partition: &TopicPartition,
        batch: BatchId,
        result: Result<(), Error>,
    ) -> Option<Result<(), Error>> {
        if let Err(error) = &result
            && error.asks_for_metadata()
        {
            self.doubtful.insert(partition.topic.clone());
        }
        let queue = self.queues.get_mut(partition)?;
        match queue.sequencer.settle(batch, result) {
            Verdict::Done => {
                queue.failures = 0;
                queue.retry_at_ms = 0;
                self.rest_if_idle(partition);
                Some(Ok(()))
            }
            Verdict::Again => {
                queue.failures += 1;
                let wait_ms = self.config.backoff.wait_ms(queue.failures, &mut self.prng);
                queue.retry_at_ms = queue.retry_at_ms.max(now_ms + wait_ms);
                None
            }
            Verdict::Failed(error) => {
                self.rest_if_idle(partition);
                Some(Err(error))
            }
        }
    }

    /// Says what is to be done now. `hurry` lets batches go without waiting for more records.
    pub(crate) fn poll(&mut self, now_ms: u64, hurry: bool, view: &impl View) -> Plan {
        let mut plan = Plan::default();
        self.poll_identity(now_ms, &mut plan);
        let mut leaderless = std::mem::take(&mut self.doubtful);
        let mut requests: BTreeMap<BrokerId, Request> = BTreeMap::new();
        for partition in self.rotated() {
            self.poll_expiry(now_ms, &partition, &mut plan);
            self.poll_reset(&partition);
            let linger_ms = if hurry { 0 } else { self.config.linger_ms };
            let Some(candidate) = self.candidate(now_ms, linger_ms, &partition, &mut plan) else {
                continue;
            };
            let Some(leader) = view.leader(&partition) else {
                leaderless.insert(partition.topic.clone());
                continue;
            };
            let request =
                requests.entry(leader).or_insert_with(|| Request::to(view.broker(leader)));
            if request.takes(candidate.size_bytes, self.config.request_bytes_max)
                && let Some(part) = self.take(&partition, &candidate)
            {
                request.parts.push(part);
                request.size_bytes += candidate.size_bytes;
                self.cursor = Some(partition);
            }
        }
        self.plan_metadata(now_ms, leaderless, &mut plan);
        for (broker, request) in requests {
            match request.state {
                BrokerState::Away => plan.actions.push(Action::Connect(broker)),
                BrokerState::Busy => {}
                BrokerState::Ready => plan.actions.push(Action::Send(broker, request.parts)),
            }
        }
        plan
    }

    /// Gives up everything, as when the producer is dropped.
    pub(crate) fn drain(&mut self) -> Vec<BatchId> {
        let mut batches = Vec::new();
        for queue in self.queues.values_mut() {
            batches.extend(queue.sequencer.drain());
            batches.extend(std::iter::from_fn(|| queue.take_due()).map(|batch| batch.id));
        }
        self.active.clear();
        batches
    }

    /// The active partitions, those after the last served first.
    fn rotated(&self) -> Vec<TopicPartition> {
        let mut partitions: Vec<TopicPartition> = self.active.iter().cloned().collect();
        if let Some(cursor) = &self.cursor {
            let first = partitions.partition_point(|partition| partition <= cursor);
            partitions.rotate_left(first);
        }
        partitions
    }

    fn poll_identity(&mut self, now_ms: u64, plan: &mut Plan) {
        if self.identity == IdentityState::Missing && !self.active.is_empty() {
            if now_ms >= self.identity_retry_at_ms {
                self.identity = IdentityState::Asked;
                plan.actions.push(Action::ObtainIdentity);
            } else {
                plan.wake_at(self.identity_retry_at_ms);
            }
        }
    }

    fn poll_expiry(&mut self, now_ms: u64, partition: &TopicPartition, plan: &mut Plan) {
        let timeout_ms = self.config.delivery_timeout_ms;
        let refusal = self.refusal().cloned();
        let Some(queue) = self.queues.get_mut(partition) else { return };
        while let Some((batch, error)) = queue.sequencer.expire(now_ms) {
            plan.actions.push(Action::Fail(batch, error.during(partition)));
        }
        while let Some(since_ms) = queue.unsent_since_ms() {
            let error = match &refusal {
                Some(error) => error.clone(),
                None if since_ms + timeout_ms <= now_ms => {
                    let message = format!("{partition}: not sent within {timeout_ms} ms");
                    Error::new(ErrorKind::Retry, message)
                }
                None => {
                    plan.wake_at(since_ms + timeout_ms);
                    break;
                }
            };
            if let Some(batch) = queue.take_due() {
                plan.actions.push(Action::Fail(batch.id, error));
            }
        }
        if let Some(flight) = queue.sequencer.flights().front()
            && !flight.is_on_wire
        {
            plan.wake_at(flight.expires_at_ms);
        }
        self.rest_if_idle(partition);
    }

    /// Lets a partition begin anew when it has to and may.
    fn poll_reset(&mut self, partition: &TopicPartition) {
        let Some(queue) = self.queues.get_mut(partition) else { return };
        let reset = queue.sequencer.ready_reset();
        let IdentityState::Known(known) = &self.identity else { return };
        let known = *known;
        if reset == Reset::No {
            return;
        }
        if queue.sequencer.identity() != Some(known) {
            queue.sequencer.rebase(known);
            return;
        }
        match known.bumped().filter(|_| reset == Reset::NextEpoch) {
            Some(bumped) => {
                queue.sequencer.rebase(bumped);
                self.identity = IdentityState::Known(bumped);
            }
            None => self.identity = IdentityState::Missing,
        }
    }

    /// What a partition has to send now.
    fn candidate(
        &self,
        now_ms: u64,
        linger_ms: u64,
        partition: &TopicPartition,
        plan: &mut Plan,
    ) -> Option<Candidate> {
        let queue = self.queues.get(partition)?;
        if queue.retry_at_ms > now_ms {
            plan.wake_at(queue.retry_at_ms);
            return None;
        }
        if let Some(flight) = queue.sequencer.waiting() {
            return Some(Candidate {
                is_new: false,
                size_bytes: flight.size_bytes,
                identity: None,
            });
        }
        let identity = match &self.identity {
            IdentityState::NotNeeded => None,
            IdentityState::Known(identity) => Some(*identity),
            _ => return None,
        };
        if !queue.sequencer.takes_new(identity, self.config.partition_in_flight_max) {
            return None;
        }
        let Some(batch) = queue.due(now_ms, linger_ms) else {
            queue.due_at_ms(linger_ms).into_iter().for_each(|at_ms| plan.wake_at(at_ms));
            return None;
        };
        Some(Candidate { is_new: true, size_bytes: batch.builder.size_bytes(), identity })
    }

    fn take(&mut self, partition: &TopicPartition, candidate: &Candidate) -> Option<Part> {
        let queue = self.queues.get_mut(partition)?;
        if !candidate.is_new {
            let batch = queue.sequencer.waiting()?.batch;
            let facts = queue.sequencer.send_waiting();
            return Some(Part { partition: partition.clone(), batch, facts, builder: None });
        }
        let batch = queue.take_due()?;
        let facts = queue.sequencer.send_new(
            candidate.identity,
            batch.id,
            batch.builder.record_count(),
            batch.builder.size_bytes(),
            batch.begun_at_ms + self.config.delivery_timeout_ms,
        );
        let builder = Some(batch.builder);
        Some(Part { partition: partition.clone(), batch: batch.id, facts, builder })
    }

    fn plan_metadata(&mut self, now_ms: u64, topics: BTreeSet<Arc<str>>, plan: &mut Plan) {
        if topics.is_empty() {
            return;
        }
        if now_ms < self.metadata_retry_at_ms {
            plan.wake_at(self.metadata_retry_at_ms);
            self.doubtful.extend(topics);
            return;
        }
        let wait_ms = self.config.backoff.wait_ms(1, &mut self.prng);
        self.metadata_retry_at_ms = now_ms + wait_ms;
        plan.wake_at(self.metadata_retry_at_ms);
        plan.actions.push(Action::RefreshMetadata(topics.into_iter().collect()));
    }

    fn rest_if_idle(&mut self, partition: &TopicPartition) {
        if self.queues.get(partition).is_some_and(PartitionQueue::is_idle) {
            self.active.remove(partition);
        }
    }
}

/// A batch that could be sent.
struct Candidate {
    is_new: bool,
    size_bytes: usize,
    identity: Option<Identity>,
}

/// A request in the making.
struct Request {
    state: BrokerState,
    parts: Vec<Part>,
    size_bytes: usize,
}

impl Request {
    fn to(state: BrokerState) -> Self {
        Self { state, parts: Vec::new(), size_bytes: 0 }
    }

    /// Whether another batch of this size goes in; the first always does.
    fn takes(&self, size_bytes: usize, request_bytes_max: usize) -> bool {
        let fits = self.parts.is_empty() || self.size_bytes + size_bytes <= request_bytes_max;
        self.state == BrokerState::Ready && fits
    }
}

#[cfg(test)]
mod engine_test;
#[cfg(test)]
mod model_test;
