//! The questions that a consumer has to brokers: fetches, metadata, committed offsets, offsets by
//! their meaning.
//!
//! Each is a future that the consumer keeps; poll begins those that are due, takes over what has
//! come, and waits for the next. None holds up another, and a poll that is cancelled loses none.
//!
//! One question of each kind is on its way at a time (fetches: one for each broker).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use tidemill_base::ports::BoxFuture;
use tidemill_base::{BrokerId, ErrorKind};
use tidemill_kafka::Request;
use tidemill_kafka::messages::fetch::{FetchRequest, FetchResponse};
use tokio::time::Instant;

use crate::cluster::metadata::Metadata;
use crate::cluster::offsets::{ListedOffsets, OffsetSpec};
use crate::cluster::{Cluster, Role, Topics, topics_of};
use crate::consume::assignment::{FetchPart, FetchVerdict, Place};
use crate::consume::consumer::Consumer;
use crate::consume::fetch;
use crate::error::{Error, Result};
use crate::group::member::{GroupEvent, MemberHandle};
use crate::group::offsets::CommittedOffset;
use crate::topic_partition::TopicPartition;

/// What is on its way, and what must wait.
#[derive(Default)]
pub(super) struct Work {
    asked: FuturesUnordered<BoxFuture<'static, Answer>>,
    /// The brokers from which a fetch is on its way.
    busy: BTreeSet<BrokerId>,
    is_refreshing: bool,
    is_looking_up: bool,
    is_finding: bool,
    /// Whether an answer has put the metadata in doubt.
    is_doubtful: bool,
    refresh_not_before_ms: u64,
    find_not_before_ms: u64,
    /// What the application is to be told.
    failure: Option<Error>,
}

impl Work {
    /// What the application is to be told, once.
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }
}

/// An answer, with what it was asked for.
enum Answer {
    Fetched(Fetched),
    Refreshed(Result<()>),
    Committed(Vec<(TopicPartition, u64)>, Result<BTreeMap<TopicPartition, CommittedOffset>>),
    Found(BTreeMap<TopicPartition, (OffsetSpec, u64)>, ListedOffsets),
}

struct Fetched {
    broker: BrokerId,
    parts: Vec<FetchPart>,
    metadata: Arc<Metadata>,
    result: Result<FetchResponse>,
}

impl Consumer {
    /// Begins all that is due.
    pub(super) fn begin_work(&mut self) {
        self.begin_refresh();
        self.begin_look_up();
        self.begin_finding();
        self.begin_fetches();
    }

    /// Takes over the answers that have come, and sends what was just begun.
    pub(super) fn receive(&mut self) {
        self.poke_commit();
        while let Some(Some(answer)) = self.work.asked.next().now_or_never() {
            self.answered(answer);
        }
    }

    /// Waits until something comes or could be done; false if the time is up.
    pub(super) async fn wait(&mut self, deadline: Instant) -> bool {
        let now_ms = self.now_ms();
        let refresh = self.wants_refresh().then_some(self.work.refresh_not_before_ms);
        let find = self.wants_to_find().then_some(self.work.find_not_before_ms);
        let wake_ms =
            [self.assignment.wake_at_ms(now_ms), refresh, find].into_iter().flatten().min();
        let wake = wake_ms.map(|at_ms| self.begun + Duration::from_millis(at_ms.max(now_ms + 1)));
        let until = wake.map_or(deadline, |wake| wake.min(deadline));
        tokio::select! {
            Some(answer) = self.work.asked.next() => self.answered(answer),
            event = next_event(self.member.as_mut()) => self.told(event),
            () = tokio::time::sleep_until(until) => {}
        }
        Instant::now() < deadline
    }

    fn answered(&mut self, answer: Answer) {
        let result = match answer {
            Answer::Fetched(fetched) => self.fetched(fetched),
            Answer::Refreshed(result) => self.refreshed(result),
            Answer::Committed(asked, result) => self.looked_up(asked, result),
            Answer::Found(asked, found) => self.found(&asked, found),
        };
        if let Err(error) = result {
            self.work.failure.get_or_insert(error);
        }
    }

    fn wait_ms(&mut self) -> u64 {
        self.backoff().wait_ms(1, &mut self.prng)
    }

    fn wants_refresh(&self) -> bool {
        let reads_nothing = self.assignment.is_empty() && self.subscribed.is_empty();
        let is_wanted = self.work.is_doubtful
            || self.cluster.is_stale()
            || self.assignment.has_leaderless(&self.cluster.metadata());
        is_wanted && !reads_nothing && !self.work.is_refreshing
    }

    fn begin_refresh(&mut self) {
        let now_ms = self.now_ms();
        if now_ms < self.work.refresh_not_before_ms || !self.wants_refresh() {
            return;
        }
        self.work.is_refreshing = true;
        self.work.refresh_not_before_ms = now_ms + self.wait_ms();
        let mut topics = topics_of(self.assignment.partitions());
        topics.extend(self.subscribed.iter().cloned());
        topics.sort_unstable();
        topics.dedup();
        let (cluster, create) = (self.cluster.clone(), self.config.create_topics);
        let refresh = async move {
            let refreshed = cluster.refresh(Topics::Named(&topics), create).await;
            Answer::Refreshed(refreshed.map(drop))
        };
        self.work.asked.push(refresh.boxed());
    }

    fn refreshed(&mut self, result: Result<()>) -> Result<()> {
        self.work.is_refreshing = false;
        match result {
            Ok(()) => self.work.is_doubtful = false,
            Err(error) if passes(&error) => {
                tracing::debug!(%error, "consumer cannot refresh metadata");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn begin_look_up(&mut self) {
        let wanting = self.assignment.wanting_committed();
        let Some(group) = self.config.group_id.clone() else { return };
        let is_early = self.now_ms() < self.work.find_not_before_ms;
        if wanting.is_empty() || is_early || self.work.is_looking_up {
            return;
        }
        self.work.is_looking_up = true;
        let cluster = self.cluster.clone();
        let look_up = async move {
            let partitions: Vec<TopicPartition> =
                wanting.iter().map(|(partition, _)| partition.clone()).collect();
            let committed = cluster.committed_offsets(&group, Some(&partitions)).await;
            Answer::Committed(wanting, committed)
        };
        self.work.asked.push(look_up.boxed());
    }

    fn looked_up(
        &mut self,
        asked: Vec<(TopicPartition, u64)>,
        result: Result<BTreeMap<TopicPartition, CommittedOffset>>,
    ) -> Result<()> {
        self.work.is_looking_up = false;
        let committed = match result {
            Ok(committed) => committed,
            Err(error) => {
                self.work.find_not_before_ms = self.now_ms() + self.wait_ms();
                if passes(&error) {
                    tracing::warn!(%error, "consumer cannot read its committed offsets");
                    return Ok(());
                }
                return Err(error);
            }
        };
        let mut failure = Ok(());
        for (partition, stamp) in asked {
            let reset = self.config.auto_offset_reset.spec();
            let place = match (committed.get(&partition), reset) {
                (Some(committed), _) => Place::At(committed.offset),
                (None, Some(spec)) => Place::Find(spec),
                (None, None) => {
                    self.work.find_not_before_ms = self.now_ms() + self.wait_ms();
                    let message = format!(
                        "{partition} has no committed offset; seek, or set auto_offset_reset"
                    );
                    failure = Err(Error::new(ErrorKind::NotFound, message));
                    continue;
                }
            };
            self.assignment.found(&partition, stamp, place);
        }
        failure
    }

    fn wants_to_find(&self) -> bool {
        let finds = !self.work.is_finding && !self.assignment.wanting_offset().is_empty();
        let looks_up = !self.work.is_looking_up && !self.assignment.wanting_committed().is_empty();
        finds || looks_up
    }

    fn begin_finding(&mut self) {
        let wanting = self.assignment.wanting_offset();
        let is_early = self.now_ms() < self.work.find_not_before_ms;
        if wanting.is_empty() || is_early || self.work.is_finding {
            return;
        }
        self.work.is_finding = true;
        let (cluster, isolation) = (self.cluster.clone(), self.config.isolation_level);
        let finding = async move {
            let wanted = wanting.iter().map(|(partition, (spec, _))| (partition.clone(), *spec));
            let found = cluster.list_offsets_once(&wanted.collect(), isolation).await;
            Answer::Found(wanting, found)
        };
        self.work.asked.push(finding.boxed());
    }

    fn found(
        &mut self,
        asked: &BTreeMap<TopicPartition, (OffsetSpec, u64)>,
        found: ListedOffsets,
    ) -> Result<()> {
        self.work.is_finding = false;
        let mut failure = Ok(());
        for (partition, listed) in found {
            let Some(&(_, stamp)) = asked.get(&partition) else { continue };
            match listed {
                Ok(listed) => {
                    let end = Place::Find(OffsetSpec::Latest);
                    let place = listed.offset.map_or(end, Place::At);
                    self.assignment.found(&partition, stamp, place);
                }
                Err(error) => {
                    self.work.find_not_before_ms = self.now_ms() + self.wait_ms();
                    self.work.is_doubtful = true;
                    if passes(&error) {
                        tracing::debug!(%error, "consumer cannot find an offset");
                        let now_ms = self.now_ms();
                        self.assignment.not_found(&partition, stamp, now_ms, error);
                    } else {
                        failure = failure.and(Err(error));
                    }
                }
            }
        }
        failure
    }

    fn begin_fetches(&mut self) {
        let metadata = self.cluster.metadata();
        let waiting_bytes_max = self.config.partition_fetch_bytes_max as usize;
        let (now_ms, busy) = (self.now_ms(), &self.work.busy);
        let fetches = self.assignment.plan_fetches(now_ms, &metadata, busy, waiting_bytes_max);
        for (broker, parts) in fetches {
            self.work.busy.insert(broker);
            let (cluster, metadata) = (self.cluster.clone(), metadata.clone());
            let request = fetch::request(&metadata, &self.config, &parts);
            let extra = Duration::from_millis(self.config.fetch_wait_ms_max);
            let fetching = async move {
                let limit = fetch::version_limit(&metadata, &parts);
                let result = fetch_from(&cluster, broker, &request, limit, extra).await;
                Answer::Fetched(Fetched { broker, parts, metadata, result })
            };
            self.work.asked.push(fetching.boxed());
        }
    }

    fn fetched(&mut self, fetched: Fetched) -> Result<()> {
        self.work.busy.remove(&fetched.broker);
        let (now_ms, backoff) = (self.now_ms(), self.backoff());
        let response = match fetched.result {
            Ok(response) if response.error_code.is_ok() => response,
            Ok(response) => {
                let what = format!("fetch from broker {}", fetched.broker);
                let error = Error::answered(what, response.error_code);
                return self.fetch_failed(&fetched.parts, error);
            }
            Err(error) => return self.fetch_failed(&fetched.parts, error),
        };
        let mut failure = Ok(());
        for part in &fetched.parts {
            let (answer, data) = fetch::answer(&fetched.metadata, part, &response);
            if let Some(data) = data {
                let (hint, endpoints) = (&data.current_leader, &response.node_endpoints);
                self.cluster.learn_leader(&part.partition, hint, endpoints);
            }
            let reset = self.config.auto_offset_reset;
            let prng = &mut self.prng;
            match self.assignment.fetch_answered(part, answer, reset, now_ms, backoff, prng) {
                FetchVerdict::Fine => {}
                FetchVerdict::Doubt => self.work.is_doubtful = true,
                FetchVerdict::Tell(error) => failure = failure.and(Err(error)),
            }
        }
        failure
    }

    fn fetch_failed(&mut self, parts: &[FetchPart], error: Error) -> Result<()> {
        let (now_ms, backoff) = (self.now_ms(), self.backoff());
        self.assignment.fetch_failed(parts, &error, now_ms, backoff, &mut self.prng);
        self.work.is_doubtful = true;
        if passes(&error) || error.kind() == ErrorKind::Corrupt {
            tracing::debug!(%error, "fetch failed");
            return Ok(());
        }
        Err(error)
    }
}

/// Whether asking again may help; asking is always harmless.
fn passes(error: &Error) -> bool {
    error.may_repeat(true)
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
