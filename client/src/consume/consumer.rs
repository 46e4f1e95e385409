//! `Consumer`: the handle of an application.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tidemill_base::ports::BoxFuture;
use tidemill_base::{ErrorKind, Offset};
use tidemill_records::Decompressor;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::cluster::offsets::{ListedOffsets, OffsetSpec};
use crate::cluster::{Cluster, Topics};
use crate::consume::assignment::{Assignment, Place};
use crate::consume::config::ConsumerConfig;
use crate::consume::grouping::Rebalance;
use crate::consume::record::ConsumerRecord;
use crate::consume::trouble::Trouble;
use crate::consume::work::Work;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::group::listener::RebalanceListener;
use crate::group::member::MemberHandle;
use crate::prng::Prng;
use crate::topic_partition::TopicPartition;

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
    pub(super) work: Work,
    decompressor: Decompressor,
    pub(super) begun: Instant,
    pub(super) prng: Prng,
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
            work: Work::default(),
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
        // Polling what is buffered waits for nothing; other tasks must have their turn all the same.
        tokio::task::coop::consume_budget().await;
        loop {
            match tokio::time::timeout_at(deadline, self.follow_group()).await {
                Ok(followed) => followed?,
                Err(_) => return Ok(Vec::new()),
            }
            self.receive();
            if let Some(failure) = self.work.take_failure() {
                return Err(failure);
            }
            self.begin_work();
            let records = self.take()?;
            if !records.is_empty() {
                // What goes wrong from here on is told by the next poll: these records are taken.
                self.begin_work();
                self.receive();
                return Ok(records);
            }
            if !self.wait(deadline).await {
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

    /// The partitions that cannot be read for now: their broker cannot be reached, or answers with an
    /// error that may pass. Polling goes on trying, without end.
    #[must_use]
    pub fn troubles(&self) -> Vec<Trouble> {
        self.assignment.troubles(self.now_ms())
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
}

impl std::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Consumer").field("assignment", &self.assignment()).finish_non_exhaustive()
    }
}
