//! The task of a producer: it does what the engine says and tells it what happened.
//!
//! It never waits for one broker while another could be served: everything that takes time is an
//! event among others.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use tidemill_base::{BrokerId, ProducerEpoch, ProducerId};
use tidemill_kafka::messages::init_producer_id::InitProducerIdRequest;
use tidemill_kafka::messages::produce::{ProduceRequest, ProduceResponse};
use tidemill_kafka::{ErrorCode, Request};
use tidemill_records::{Codec, Compressor};

use crate::cluster::metadata::Metadata;
use crate::cluster::{Cluster, Role, Topics};
use crate::error::{Error, Result};
use crate::net::versions::ANY;
use crate::produce::config::Acks;
use crate::produce::delivery::{StoredBatch, given_up};
use crate::produce::engine::{Action, BrokerState, Part, View};
use crate::produce::request::{self, BATCHES_V2_FROM, SentBatch};
use crate::produce::sealed::SealedBatch;
use crate::produce::sequencer::{BatchId, Identity};
use crate::produce::shared::Shared;
use crate::topic_partition::TopicPartition;

/// The first version of Produce that takes Zstandard.
const ZSTD_FROM: i16 = 7;

type Pending = Pin<Box<dyn Future<Output = Event> + Send>>;

/// Something that took time has happened.
enum Event {
    Connected(BrokerId, Result<()>),
    Identified(Result<Identity>),
    Refreshed(Result<()>),
    Produced(Arc<Metadata>, Vec<SentBatch>, Result<ProduceResponse>),
}

/// See the module's documentation.
pub(crate) struct Sender {
    shared: Arc<Shared>,
    cluster: Cluster,
    pending: FuturesUnordered<Pending>,
    connecting: BTreeSet<BrokerId>,
    is_refreshing: bool,
    sealed: BTreeMap<BatchId, SealedBatch>,
    compressor: Compressor,
}

/// What the engine sees.
struct ClusterView<'a> {
    metadata: &'a Metadata,
    cluster: &'a Cluster,
    connecting: &'a BTreeSet<BrokerId>,
}

impl View for ClusterView<'_> {
    fn leader(&self, partition: &TopicPartition) -> Option<BrokerId> {
        self.metadata.leader(partition)
    }

    fn broker(&self, broker: BrokerId) -> BrokerState {
        match self.cluster.live(broker, Role::Data) {
            Some(connection) if connection.free_place().is_some() => BrokerState::Ready,
            Some(_) => BrokerState::Busy,
            None if self.connecting.contains(&broker) => BrokerState::Busy,
            None => BrokerState::Away,
        }
    }
}

impl Sender {
    pub(crate) fn new(shared: Arc<Shared>, cluster: Cluster) -> Self {
        Self {
            shared,
            cluster,
            pending: FuturesUnordered::new(),
            connecting: BTreeSet::new(),
            is_refreshing: false,
            sealed: BTreeMap::new(),
            compressor: Compressor::new(),
        }
    }

    /// Runs until the producer is stopped.
    pub(crate) async fn run(mut self) {
        while !self.shared.is_stopped.load(Ordering::Acquire) {
            let wake_at =
                self.advance().map(|at_ms| self.shared.begun + Duration::from_millis(at_ms));
            let sleep = async {
                match wake_at {
                    Some(instant) => tokio::time::sleep_until(instant).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.shared.wake.notified() => {}
                Some(event) = self.pending.next() => self.handle(event),
                () = sleep => {}
            }
            while let Some(Some(event)) = self.pending.next().now_or_never() {
                self.handle(event);
            }
        }
        self.abandon();
    }

    /// Does what the engine says until it says nothing more; when to ask again.
    fn advance(&mut self) -> Option<u64> {
        self.refresh_if_stale();
        loop {
            let metadata = self.cluster.metadata();
            let (cluster, connecting) = (&self.cluster, &self.connecting);
            let view = ClusterView { metadata: &metadata, cluster, connecting };
            let hurry = self.shared.waiting.load(Ordering::Relaxed) > 0;
            let now_ms = self.shared.now_ms();
            let plan = self.shared.state.lock().engine.poll(now_ms, hurry, &view);
            if plan.actions.is_empty() {
                return plan.wake_at_ms;
            }
            for action in plan.actions {
                self.carry_out(action, &metadata);
            }
        }
    }

    fn carry_out(&mut self, action: Action, metadata: &Arc<Metadata>) {
        match action {
            Action::ObtainIdentity => {
                let identity = obtain_identity(self.cluster.clone());
                self.pending.push(identity.map(Event::Identified).boxed());
            }
            Action::RefreshMetadata(topics) => self.refresh(topics),
            Action::Connect(broker) => {
                self.connecting.insert(broker);
                let cluster = self.cluster.clone();
                let connect = async move {
                    let connected = cluster.broker(broker, Role::Data).await;
                    Event::Connected(broker, connected.map(drop))
                };
                self.pending.push(connect.boxed());
            }
            Action::Send(broker, parts) => self.send(broker, parts, metadata),
            Action::Fail(batch, error) => self.fail(batch, error),
        }
    }

    fn refresh_if_stale(&mut self) {
        let topics: Vec<Arc<str>> = self.cluster.metadata().topics.keys().cloned().collect();
        if self.cluster.is_stale() && !topics.is_empty() {
            self.refresh(topics);
        }
    }

    fn refresh(&mut self, topics: Vec<Arc<str>>) {
        if std::mem::replace(&mut self.is_refreshing, true) {
            return;
        }
        let cluster = self.cluster.clone();
        let refresh = async move {
            // A topic is created when a record for it comes, not when one is found to be gone.
            let refreshed = cluster.refresh(Topics::Named(&topics), false).await;
            Event::Refreshed(refreshed.map(drop))
        };
        self.pending.push(refresh.boxed());
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Connected(broker, result) => {
                self.connecting.remove(&broker);
                if let Err(error) = result {
                    tracing::debug!(%error, "producer cannot connect");
                    self.doubt_partitions_of(broker);
                }
            }
            Event::Identified(result) => {
                if let Err(error) = &result {
                    tracing::warn!(%error, "no producer id");
                }
                let now_ms = self.shared.now_ms();
                self.shared.state.lock().engine.identified(now_ms, result);
            }
            Event::Refreshed(result) => {
                self.is_refreshing = false;
                if let Err(error) = result {
                    tracing::debug!(%error, "producer cannot refresh metadata");
                }
            }
            Event::Produced(metadata, sent, result) => self.produced(&metadata, sent, result),
        }
    }

    /// A broker that cannot be reached may have been replaced.
    fn doubt_partitions_of(&mut self, broker: BrokerId) {
        let metadata = self.cluster.metadata();
        let is_led = |topic: &crate::cluster::metadata::TopicMetadata| {
            topic.partitions.values().any(|partition| partition.leader == Some(broker))
        };
        let topics = metadata.topics.values().map(Arc::as_ref).filter(|topic| is_led(topic));
        self.refresh(topics.map(|topic| topic.name.clone()).collect());
    }

    fn send(&mut self, broker: BrokerId, parts: Vec<Part>, metadata: &Arc<Metadata>) {
        let mut batches: Vec<(SentBatch, Bytes)> = Vec::with_capacity(parts.len());
        for part in parts {
            let sent = SentBatch { partition: part.partition.clone(), batch: part.batch };
            match self.seal(part) {
                Ok(bytes) => batches.push((sent, bytes)),
                Err(error) => self.settle(&sent, Err(error)),
            }
        }
        let answer = self.submit(broker, &batches, metadata);
        let sent: Vec<SentBatch> = batches.into_iter().map(|(sent, _)| sent).collect();
        match answer {
            Ok(answer) => {
                let metadata = metadata.clone();
                let produced = async move { Event::Produced(metadata, sent, answer.wait().await) };
                self.pending.push(produced.boxed());
            }
            Err(error) => self.settle_all(&sent, &error),
        }
    }

    fn seal(&mut self, part: Part) -> Result<Bytes> {
        let about = |error: tidemill_records::RecordsError| {
            Error::caused(error.kind(), format!("{}: {error}", part.partition), error)
        };
        if let Some(builder) = part.builder {
            let sealed = SealedBatch::seal(builder, part.facts, &mut self.compressor);
            self.sealed.insert(part.batch, sealed.map_err(about)?);
        }
        let sealed = self.sealed.get_mut(&part.batch);
        let missing = || Error::new(tidemill_base::ErrorKind::Bug, "a batch without its bytes");
        sealed.ok_or_else(missing)?.carrying(part.facts).map_err(about)
    }

    fn submit(
        &self,
        broker: BrokerId,
        batches: &[(SentBatch, Bytes)],
        metadata: &Metadata,
    ) -> Result<crate::net::connection::Answer<ProduceResponse>> {
        let retry = |message: &str| Error::new(tidemill_base::ErrorKind::Retry, message);
        let connection = self.cluster.live(broker, Role::Data);
        let connection = connection.ok_or_else(|| retry("the connection has ended"))?;
        let place = connection.free_place().ok_or_else(|| retry("too many requests in flight"))?;
        let config = &self.shared.config;
        let limit = request::version_limit(metadata, batches.iter().map(|(sent, _)| sent));
        let version = connection.version(ProduceRequest::API, limit)?;
        let needed = if config.codec == Codec::Zstd { ZSTD_FROM } else { BATCHES_V2_FROM };
        if version < needed {
            let message = format!("broker {broker} is too old for {} batches", config.codec);
            return Err(Error::new(tidemill_base::ErrorKind::Invalid, message));
        }
        let timeout_ms = self.cluster.config().request_timeout_ms;
        let request = request::request(metadata, config.acks.number(), timeout_ms, batches);
        if config.acks == Acks::None {
            connection.send_unanswered(place, &request, version)
        } else {
            connection.send(place, &request, version, Duration::ZERO)
        }
    }

    fn produced(
        &mut self,
        metadata: &Metadata,
        sent: Vec<SentBatch>,
        result: Result<ProduceResponse>,
    ) {
        let response = match result {
            Ok(response) => response,
            Err(error) => return self.settle_all(&sent, &error),
        };
        if self.shared.config.acks == Acks::None {
            for sent in &sent {
                self.settle(sent, Ok(StoredBatch::default()));
            }
            return;
        }
        for answered in request::answers(metadata, sent, &response) {
            if let Some(hint) = &answered.hint {
                let endpoints = &response.node_endpoints;
                self.cluster.learn_leader(&answered.sent.partition, hint, endpoints);
            }
            self.settle(&answered.sent, answered.result);
        }
    }

    fn settle_all(&mut self, sent: &[SentBatch], error: &Error) {
        for sent in sent {
            let error = error.clone().during(format!("produce to {}", sent.partition));
            self.settle(sent, Err(error));
        }
    }

    fn settle(&mut self, sent: &SentBatch, result: Result<StoredBatch>) {
        let now_ms = self.shared.now_ms();
        let (stored, result) = match result {
            Ok(stored) => (stored, Ok(())),
            Err(error) => (StoredBatch::default(), Err(error)),
        };
        if let Err(error) = &result {
            tracing::debug!(%error, batch = sent.batch.0, "batch not stored yet");
        }
        let told =
            self.shared.state.lock().engine.settle(now_ms, &sent.partition, sent.batch, result);
        if let Some(told) = told {
            self.tell(sent.batch, told.map(|()| stored));
        }
    }

    fn fail(&mut self, batch: BatchId, error: Error) {
        self.tell(batch, Err(error));
    }

    fn tell(&mut self, batch: BatchId, result: Result<StoredBatch>) {
        self.sealed.remove(&batch);
        self.shared.tell(batch, result);
    }

    fn abandon(&mut self) {
        let batches = self.shared.state.lock().engine.drain();
        for batch in batches {
            self.tell(batch, Err(given_up()));
        }
        self.shared.room.close();
    }
}

/// Asks any broker for a producer id.
async fn obtain_identity(cluster: Cluster) -> Result<Identity> {
    let connection = cluster.any().await?;
    let request = InitProducerIdRequest { transactional_id: None, ..Default::default() };
    let response = connection.call(&request, ANY, Duration::ZERO).await?;
    match response.error_code {
        ErrorCode::NONE => Ok(Identity {
            id: ProducerId(response.producer_id),
            epoch: ProducerEpoch(response.producer_epoch),
        }),
        code => Err(Error::answered("obtain a producer id", code)),
    }
}
