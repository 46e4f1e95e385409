//! `Consumer`: the handle of an application.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use tidemill_base::ports::BoxFuture;
use tidemill_base::{BrokerId, ErrorKind, Offset};
use tidemill_kafka::Request;
use tidemill_kafka::messages::fetch::{FetchRequest, FetchResponse};
use tidemill_records::Decompressor;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::cluster::metadata::Metadata;
use crate::cluster::offsets::{ListedOffsets, OffsetSpec};
use crate::cluster::{Cluster, Role, Topics, topics_of};
use crate::consume::assignment::{Assignment, FetchPart, FetchVerdict, Place};
use crate::consume::config::ConsumerConfig;
use crate::consume::fetch;
use crate::consume::grouping::Rebalance;
use crate::consume::record::ConsumerRecord;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::group::listener::RebalanceListener;
use crate::group::member::{GroupEvent, MemberHandle};
use crate::prng::Prng;
use crate::topic_partition::TopicPartition;

type Fetching = Pin<Box<dyn Future<Output = Fetch> + Send>>;

/// A fetch that has ended.
struct Fetch {
    broker: BrokerId,
    parts: Vec<FetchPart>,
    metadata: Arc<Metadata>,
    result: Result<FetchResponse>,
}

/// Consumes records. One task uses it at a time: its methods take `&mut self`.
///
/// Work goes on only while [`Consumer::poll`] runs, apart from answers to fetches that were sent,
/// which arrive in the background. Every method may be cancelled.
pub struct Consumer {
    pub(super) cluster: Cluster,
    pub(super) environment: Environment,
    pub(super) config: ConsumerConfig,
    pub(super) assignment: Assignment,
    pub(super) member: Option<MemberHandle>,
    pub(super) subscribed: Vec<Arc<str>>,
    pub(super) listener: Option<Box<dyn RebalanceListener>>,
    /// What the group has told and is not carried out yet.
    pub(super) rebalance: Option<Rebalance>,
    /// A commit that is on its way.
    pub(super) committing: Option<BoxFuture<'static, Result<()>>>,
    pub(super) committed_at_ms: u64,
    fetching: FuturesUnordered<Fetching>,
    busy: BTreeSet<BrokerId>,
    /// Whether the metadata is to be read again before the next fetch.
    is_doubtful: bool,
    refresh_not_before_ms: u64,
    decompressor: Decompressor,
    begun: Instant,
    prng: Prng,
}

impl Consumer {
    pub(crate) fn new(
        cluster: Cluster,
        environment: Environment,
        config: ConsumerConfig,
    ) -> Result<Self> {
        config.validate()?;
        let seed = cluster.prng().lock().next();
        Ok(Self {
            cluster,
            environment,
            config,
            assignment: Assignment::default(),
            member: None,
            subscribed: Vec::new(),
            listener: None,
            rebalance: None,
            committing: None,
            committed_at_ms: 0,
            fetching: FuturesUnordered::new(),
            busy: BTreeSet::new(),
            is_doubtful: false,
            refresh_not_before_ms: 0,
            decompressor: Decompressor::new(),
            begun: Instant::now(),
            prng: Prng::new(seed),
        })
    }

    /// Reads exactly these partitions, without being a member of a group. Those that are already
    /// read go on where they are; others begin at the group's committed offset if there is a
    /// group, else where `auto_offset_reset` says.
    ///
    /// # Errors
    /// `Invalid` if the consumer has no group and `auto_offset_reset` is none: use
    /// [`Self::assign_at`]; or if it is subscribed.
    pub fn assign(&mut self, partitions: impl IntoIterator<Item = TopicPartition>) -> Result<()> {
        self.check_unsubscribed()?;
        let place = match (&self.config.group_id, self.config.auto_offset_reset.spec()) {
            (Some(_), _) => Place::Committed,
            (None, Some(spec)) => Place::Find(spec),
            (None, None) => {
                let message = "without a group and auto_offset_reset there is nowhere to begin; \
                               use assign_at";
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        };
        self.assignment.set(partitions, place);
        Ok(())
    }

    /// Reads exactly these partitions, each from an offset of this meaning on.
    ///
    /// # Errors
    /// `Invalid` if the consumer is subscribed.
    pub fn assign_at(
        &mut self,
        partitions: impl IntoIterator<Item = TopicPartition>,
        spec: OffsetSpec,
    ) -> Result<()> {
        self.check_unsubscribed()?;
        self.assignment.set([], Place::Committed);
        self.assignment.set(partitions, Place::Find(spec));
        Ok(())
    }

    fn check_unsubscribed(&self) -> Result<()> {
        if self.member.is_none() {
            return Ok(());
        }
        let message = "partitions are assigned by the group; unsubscribe first";
        Err(Error::new(ErrorKind::Invalid, message))
    }

    /// The partitions of a topic.
    ///
    /// # Errors
    /// `NotFound` if the topic does not exist, `Retry` if no broker can be reached.
    pub async fn partitions(&self, topic: &str) -> Result<Vec<TopicPartition>> {
        let names = [Arc::from(topic)];
        let mut retries = self.cluster.api_retries().harmless();
        let metadata = loop {
            match self.cluster.refresh(Topics::Named(&names), self.config.create_topics).await {
                Ok(metadata) => break metadata,
                Err(error) => retries.pause(error).await?,
            }
        };
        let unknown = tidemill_kafka::ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        let known = metadata.topics.get(&names[0]);
        let code = known.map_or(unknown, |topic| topic.error);
        match known.filter(|topic| topic.error.is_ok()) {
            Some(topic) => Ok(topic
                .partitions
                .keys()
                .map(|partition| TopicPartition::new(names[0].clone(), partition.0))
                .collect()),
            None => Err(Error::answered(format!("topic {topic}"), code)),
        }
    }

    /// The partitions that are read.
    #[must_use]
    pub fn assignment(&self) -> Vec<TopicPartition> {
        self.assignment.partitions().cloned().collect()
    }

    /// Waits up to `timeout_ms` for records, and answers at most `poll_records_max`; none if none
    /// came. Records of one partition come in the order of their offsets.
    ///
    /// # Errors
    /// Only what does not pass by itself; polling again goes on.
    /// - `NotFound`: an offset is not there and `auto_offset_reset` is none.
    /// - `Corrupt`: a batch fails its checksum; seek behind it to go on without it.
    /// - `Denied`, `Invalid`: as the broker answered.
    /// - `Fenced`: another member took over the `group_instance_id`; the membership is over.
    pub async fn poll(&mut self, timeout_ms: u64) -> Result<Vec<ConsumerRecord>> {
        let deadline = Instant::now() + Duration::from_millis(timeout_ms);
        if let Some(member) = &self.member {
            member.polled();
        }
        self.auto_commit_if_due();
        loop {
            match tokio::time::timeout_at(deadline, self.follow_group()).await {
                Ok(followed) => followed?,
                Err(_) => return Ok(Vec::new()),
            }
            self.receive()?;
            let records = self.take()?;
            if !records.is_empty() {
                self.start_fetches();
                self.receive()?;
                return Ok(records);
            }
            match tokio::time::timeout_at(deadline, self.prepare()).await {
                Ok(prepared) => prepared?,
                Err(_) => return Ok(records),
            }
            self.start_fetches();
            if !self.wait(deadline).await? {
                return self.take();
            }
        }
    }

    /// Goes on from this offset.
    ///
    /// # Errors
    /// `Invalid` if the partition is not assigned.
    pub fn seek(&mut self, partition: &TopicPartition, offset: Offset) -> Result<()> {
        self.assignment.seek(partition, Place::At(offset))
    }

    /// Goes on from an offset of this meaning, which is looked up by the next poll. A timestamp
    /// that no record reaches means the end.
    ///
    /// # Errors
    /// `Invalid` if the partition is not assigned.
    pub fn seek_to(&mut self, partition: &TopicPartition, spec: OffsetSpec) -> Result<()> {
        self.assignment.seek(partition, Place::Find(spec))
    }

    /// Answers no records of these partitions until they are resumed. They are kept assigned.
    ///
    /// # Errors
    /// `Invalid` if one is not assigned; those before it are paused.
    pub fn pause(&mut self, partitions: &[TopicPartition]) -> Result<()> {
        partitions.iter().try_for_each(|partition| self.assignment.pause(partition, true))
    }

    /// Answers records of these partitions again.
    ///
    /// # Errors
    /// `Invalid` if one is not assigned; those before it are resumed.
    pub fn resume(&mut self, partitions: &[TopicPartition]) -> Result<()> {
        partitions.iter().try_for_each(|partition| self.assignment.pause(partition, false))
    }

    /// The offset of the next record that poll will answer, once it is known.
    #[must_use]
    pub fn position(&self, partition: &TopicPartition) -> Option<Offset> {
        self.assignment.position(partition)
    }

    /// The end of a partition as the last fetch told it.
    #[must_use]
    pub fn high_watermark(&self, partition: &TopicPartition) -> Option<Offset> {
        self.assignment.high_watermark(partition)
    }

    /// Finds offsets by their meaning. Every partition asked is in the answer.
    pub async fn list_offsets(
        &self,
        wanted: &BTreeMap<TopicPartition, OffsetSpec>,
    ) -> ListedOffsets {
        self.cluster.list_offsets(wanted, self.config.isolation_level).await
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    pub(super) fn backoff(&self) -> Backoff {
        let config = self.cluster.config();
        Backoff { initial_ms: config.retry_backoff_ms, max_ms: config.retry_backoff_max_ms }
    }

    fn take(&mut self) -> Result<Vec<ConsumerRecord>> {
        let count = self.config.poll_records_max;
        self.assignment.take(count, self.config.verify_checksums, &mut self.decompressor)
    }

    /// Does what must be done before fetching: metadata and positions.
    async fn prepare(&mut self) -> Result<()> {
        if self.assignment.is_empty() && self.subscribed.is_empty() {
            return Ok(());
        }
        let is_leaderless = self.assignment.has_leaderless(&self.cluster.metadata());
        let wants_refresh = self.is_doubtful || is_leaderless || self.cluster.is_stale();
        if wants_refresh && self.now_ms() >= self.refresh_not_before_ms {
            let mut topics = topics_of(self.assignment.partitions());
            topics.extend(self.subscribed.iter().cloned());
            topics.sort_unstable();
            topics.dedup();
            let create = self.config.create_topics;
            let refreshed = self.cluster.refresh(Topics::Named(&topics), create).await;
            let wait_ms = self.backoff().wait_ms(1, &mut self.prng);
            self.refresh_not_before_ms = self.now_ms() + wait_ms;
            match refreshed {
                Ok(_) => self.is_doubtful = false,
                Err(error) if error.may_repeat(true) => {
                    tracing::warn!(%error, "consumer cannot refresh metadata");
                }
                Err(error) => return Err(error),
            }
        }
        self.find_committed().await?;
        self.find_offsets().await
    }

    async fn find_offsets(&mut self) -> Result<()> {
        let wanting = self.assignment.wanting_offset();
        if wanting.is_empty() {
            return Ok(());
        }
        let wanted = wanting.iter().map(|(partition, (spec, _))| (partition.clone(), *spec));
        let found = self.list_offsets(&wanted.collect()).await;
        let mut failure = Ok(());
        for (partition, listed) in found {
            let Some(&(_, stamp)) = wanting.get(&partition) else { continue };
            match listed {
                Ok(listed) => {
                    let end = Place::Find(OffsetSpec::Latest);
                    let place = listed.offset.map_or(end, Place::At);
                    self.assignment.found(&partition, stamp, place);
                }
                Err(error) if error.may_repeat(true) => {
                    tracing::warn!(%error, "consumer cannot find its offset");
                }
                Err(error) => failure = failure.and(Err(error)),
            }
        }
        failure
    }

    /// Sends the fetches that are due.
    fn start_fetches(&mut self) {
        let metadata = self.cluster.metadata();
        let waiting_bytes_max = self.config.partition_fetch_bytes_max as usize;
        let now_ms = self.now_ms();
        let fetches =
            self.assignment.plan_fetches(now_ms, &metadata, &self.busy, waiting_bytes_max);
        for (broker, parts) in fetches {
            self.busy.insert(broker);
            let (cluster, metadata) = (self.cluster.clone(), metadata.clone());
            let request = fetch::request(&metadata, &self.config, &parts);
            let extra = Duration::from_millis(self.config.fetch_wait_ms_max);
            let fetching = async move {
                let limit = fetch::version_limit(&metadata, &parts);
                let result = fetch_from(&cluster, broker, &request, limit, extra).await;
                Fetch { broker, parts, metadata, result }
            };
            self.fetching.push(fetching.boxed());
        }
    }

    /// Takes over the answers that have come, and sends what was just begun.
    fn receive(&mut self) -> Result<()> {
        self.poke_commit();
        while let Some(Some(fetch)) = self.fetching.next().now_or_never() {
            self.fetched(fetch)?;
        }
        Ok(())
    }

    /// Waits until something comes or could be done; false if the time is up.
    async fn wait(&mut self, deadline: Instant) -> Result<bool> {
        let now_ms = self.now_ms();
        let mut wake_ms = self.assignment.wake_at_ms(now_ms);
        let wants_refresh =
            self.is_doubtful || self.assignment.has_leaderless(&self.cluster.metadata());
        if wants_refresh {
            let at_ms = self.refresh_not_before_ms.max(now_ms + 1);
            wake_ms = Some(wake_ms.map_or(at_ms, |wake_ms| wake_ms.min(at_ms)));
        }
        let wake = wake_ms.map(|at_ms| self.begun + Duration::from_millis(at_ms));
        let until = wake.map_or(deadline, |wake| wake.min(deadline));
        tokio::select! {
            Some(fetch) = self.fetching.next() => self.fetched(fetch)?,
            event = next_event(self.member.as_mut()) => self.told(event),
            () = tokio::time::sleep_until(until) => {}
        }
        Ok(Instant::now() < deadline)
    }

    fn fetched(&mut self, fetch: Fetch) -> Result<()> {
        self.busy.remove(&fetch.broker);
        let (now_ms, backoff) = (self.now_ms(), self.backoff());
        let response = match fetch.result {
            Ok(response) if response.error_code.is_ok() => response,
            Ok(response) => {
                let what = format!("fetch from broker {}", fetch.broker);
                let error = Error::answered(what, response.error_code);
                return self.fetch_failed(&fetch.parts, error);
            }
            Err(error) => return self.fetch_failed(&fetch.parts, error),
        };
        let mut failure = Ok(());
        for part in &fetch.parts {
            let (answer, data) = fetch::answer(&fetch.metadata, part, &response);
            if let Some(data) = data {
                let (hint, endpoints) = (&data.current_leader, &response.node_endpoints);
                self.cluster.learn_leader(&part.partition, hint, endpoints);
            }
            let reset = self.config.auto_offset_reset;
            let prng = &mut self.prng;
            match self.assignment.fetch_answered(part, answer, reset, now_ms, backoff, prng) {
                FetchVerdict::Fine => {}
                FetchVerdict::Doubt => self.is_doubtful = true,
                FetchVerdict::Tell(error) => failure = failure.and(Err(error)),
            }
        }
        failure
    }

    fn fetch_failed(&mut self, parts: &[FetchPart], error: Error) -> Result<()> {
        let (now_ms, backoff) = (self.now_ms(), self.backoff());
        self.assignment.fetch_failed(parts, now_ms, backoff, &mut self.prng);
        self.is_doubtful = true;
        if error.may_repeat(true) || error.kind() == ErrorKind::Corrupt {
            tracing::debug!(%error, "fetch failed");
            return Ok(());
        }
        Err(error)
    }
}

/// What the group tells next; never, without a group.
async fn next_event(member: Option<&mut MemberHandle>) -> Option<GroupEvent> {
    match member {
        Some(member) => member.events.recv().await,
        None => std::future::pending().await,
    }
}

async fn fetch_from(
    cluster: &Cluster,
    broker: BrokerId,
    request: &FetchRequest,
    limit: i16,
    extra: Duration,
) -> Result<FetchResponse> {
    let connection = cluster.broker(broker, Role::Data).await?;
    let version = connection.version(FetchRequest::API, limit)?;
    let place = connection.place().await?;
    connection.send(place, request, version, extra)?.wait().await
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer").field("assignment", &self.assignment()).finish_non_exhaustive()
    }
}
