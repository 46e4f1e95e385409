//! `Producer`: the handle of an application.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt;
use parking_lot::Mutex;
use tidemill_base::{ErrorKind, PartitionIndex, TimestampMs};
use tidemill_records::{HeaderView, NewRecord};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::cluster::Cluster;
use crate::cluster::metadata::TopicMetadata;
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::produce::config::ProducerConfig;
use crate::produce::delivery::{Delivery, given_up};
use crate::produce::engine::{Engine, EngineConfig};
use crate::produce::partitioner::Partitioner;
use crate::produce::record::{Record, RecordMetadata};
use crate::produce::sender::Sender;
use crate::produce::shared::{Shared, State, Ticket};
use crate::topic_partition::TopicPartition;

/// Produces records. Share it by reference or in an `Arc`; all its methods take `&self`.
///
/// Records of one partition that one task sends one after the other are stored in that order.
/// Dropping the producer gives up what is not delivered; [`Producer::close`] waits for it.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    cluster: Cluster,
    environment: Environment,
}

impl Producer {
    pub(crate) fn start(
        cluster: Cluster,
        environment: Environment,
        config: ProducerConfig,
    ) -> Result<Self> {
        config.validate()?;
        let client = cluster.config();
        let engine = EngineConfig {
            codec: config.codec,
            batch_bytes_max: config.batch_bytes_max,
            request_bytes_max: config.request_bytes_max,
            linger_ms: config.linger_ms,
            delivery_timeout_ms: config.delivery_timeout_ms,
            partition_in_flight_max: config.partition_in_flight_max(client),
            idempotent: config.idempotent,
            backoff: Backoff {
                initial_ms: client.retry_backoff_ms,
                max_ms: client.retry_backoff_max_ms,
            },
        };
        let seed = cluster.prng().lock().next();
        let state = State {
            engine: Engine::new(engine, seed),
            partitioner: Partitioner::new(config.batch_bytes_max, seed ^ 1),
            tickets: Default::default(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            wake: Notify::new(),
            room: Arc::new(Semaphore::new(config.buffer_bytes_max)),
            waiting: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
            begun: Instant::now(),
            config,
        });
        let sender = Sender::new(shared.clone(), cluster.clone());
        environment.spawn.task("client producer", Box::pin(sender.run()));
        Ok(Self { shared, cluster, environment })
    }

    /// Takes a record in, and answers what becomes of it as a future: `send(..).await?.await?`
    /// waits for the delivery of this one, which is slow when done for each.
    ///
    /// Waits for the topic's metadata and for room among `buffer_bytes_max`, up to
    /// `send_block_ms_max`.
    ///
    /// # Errors
    /// The record was not taken in:
    /// - `Throttled`: no room in time; slow down.
    /// - `NotFound`: the topic does not exist, or has no such partition.
    /// - `Invalid`: the record is larger than `request_bytes_max`.
    /// - `Retry`: no broker could be reached in time.
    /// - `Closed`: the producer is closed.
    pub async fn send(&self, record: Record) -> Result<Delivery> {
        let size_bytes = record.size_bytes_max();
        let size_bytes_max = self.shared.config.request_bytes_max;
        if size_bytes > size_bytes_max {
            let message = format!(
                "a record for topic {} takes {size_bytes} bytes, request_bytes_max allows \
                 {size_bytes_max}",
                record.topic
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let deadline = Instant::now() + Duration::from_millis(self.shared.config.send_block_ms_max);
        // With room for it, a record is taken in without waiting; the sender must have its turn.
        tokio::task::coop::consume_budget().await;
        let topic = self.topic(&record, deadline).await?;
        let room = self.room(size_bytes, deadline).await?;
        self.append(&record, &topic, size_bytes, room)
    }

    /// Sends a record and waits for its delivery.
    ///
    /// # Errors
    /// Those of [`Self::send`] and [`Delivery`].
    pub async fn send_and_wait(&self, record: Record) -> Result<RecordMetadata> {
        self.send(record).await?.await
    }

    /// Waits until every record taken in before is delivered or given up, without lingering.
    ///
    /// # Errors
    /// The error of the first batch that was given up.
    pub async fn flush(&self) -> Result<()> {
        let outcomes: Vec<_> = {
            let mut state = self.shared.state.lock();
            state.engine.flush();
            state.tickets.values().map(|ticket| ticket.outcome.clone()).collect()
        };
        self.shared.wake.notify_one();
        let mut first = Ok(());
        for outcome in outcomes {
            let result = match outcome.await {
                Ok(result) => result.map(drop),
                Err(_) => Err(given_up()),
            };
            first = first.and(result);
        }
        first
    }

    /// Flushes, for up to `timeout_ms`, and ends the producer.
    ///
    /// # Errors
    /// The error of the first batch that was given up; `Ambiguous` if the time was not enough.
    pub async fn close(self, timeout_ms: u64) -> Result<()> {
        let timeout = Duration::from_millis(timeout_ms);
        tokio::time::timeout(timeout, self.flush()).await.unwrap_or_else(|_| {
            let message = format!("not everything was delivered within {timeout_ms} ms");
            Err(Error::new(ErrorKind::Ambiguous, message))
        })
    }

    /// The partitions of a topic, for applications that choose themselves.
    ///
    /// # Errors
    /// `NotFound` if the topic does not exist, `Retry` if no broker can be reached.
    pub async fn partitions(&self, topic: &str) -> Result<Vec<PartitionIndex>> {
        let timeout_ms = self.shared.config.send_block_ms_max;
        let create = self.shared.config.create_topics;
        let topic = self.cluster.topic(&Arc::from(topic), create, timeout_ms).await?;
        Ok(topic.partitions.keys().copied().collect())
    }

    async fn topic(&self, record: &Record, deadline: Instant) -> Result<Arc<TopicMetadata>> {
        let create = self.shared.config.create_topics;
        let mut retries = None;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left_ms = left.as_millis() as u64;
            let topic = self.cluster.topic(&record.topic, create, left_ms).await?;
            let is_there = match record.partition {
                Some(partition) => topic.partitions.contains_key(&partition),
                None => !topic.partitions.is_empty(),
            };
            if is_there {
                return Ok(topic);
            }
            // It may have been added since.
            if retries.replace(()).is_some() {
                let partition = record.partition.unwrap_or_default();
                let count = topic.partition_count();
                let message =
                    format!("topic {} has {count} partitions, not {partition}", record.topic);
                return Err(Error::new(ErrorKind::NotFound, message));
            }
            self.cluster.forget(&record.topic);
        }
    }

    async fn room(&self, size_bytes: usize, deadline: Instant) -> Result<OwnedSemaphorePermit> {
        let closed = |_| Error::new(ErrorKind::Closed, "the producer is closed");
        let permits = u32::try_from(size_bytes).unwrap_or(u32::MAX);
        if let Ok(room) = self.shared.room.clone().try_acquire_many_owned(permits) {
            return Ok(room);
        }
        let _waiting = Waiting::begin(&self.shared);
        let acquiring = self.shared.room.clone().acquire_many_owned(permits);
        match tokio::time::timeout_at(deadline, acquiring).await {
            Ok(room) => room.map_err(closed),
            Err(_) => {
                let message = format!(
                    "{} bytes wait for delivery already and none went in {} ms; slow down",
                    self.shared.config.buffer_bytes_max, self.shared.config.send_block_ms_max
                );
                Err(Error::new(ErrorKind::Throttled, message))
            }
        }
    }

    fn append(
        &self,
        record: &Record,
        topic: &TopicMetadata,
        size_bytes: usize,
        room: OwnedSemaphorePermit,
    ) -> Result<Delivery> {
        let headers: Vec<HeaderView<'_>> = record
            .headers
            .iter()
            .map(|header| HeaderView { key: header.key.as_bytes(), value: header.value.as_deref() })
            .collect();
        let timestamp = record.timestamp.unwrap_or_else(|| self.now());
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        let new = NewRecord { timestamp, key, value, headers: &headers };
        let now_ms = self.shared.now_ms();
        let mut state = self.shared.state.lock();
        let state = &mut *state;
        if let Some(error) = state.engine.refusal() {
            return Err(error.clone());
        }
        let partition = match record.partition {
            Some(partition) => Some(partition),
            None => state.partitioner.choose(topic, key, size_bytes),
        };
        let partition = partition.ok_or_else(|| {
            let message = format!("topic {} has no partitions", record.topic);
            Error::new(ErrorKind::NotFound, message)
        })?;
        let partition = TopicPartition { topic: topic.name.clone(), partition };
        let appended = state
            .engine
            .append(now_ms, &partition, &new)
            .map_err(|error| Error::caused(error.kind(), format!("{partition}: {error}"), error))?;
        room.forget();
        let ticket = state.tickets.entry(appended.batch).or_insert_with(|| {
            let (tell, outcome) = oneshot::channel();
            Ticket { tell, outcome: outcome.shared(), room_bytes: 0 }
        });
        ticket.room_bytes += size_bytes;
        let outcome = ticket.outcome.clone();
        if appended.is_first || appended.filled {
            self.shared.wake.notify_one();
        }
        Ok(Delivery { outcome, partition, delta: appended.delta, timestamp })
    }

    fn now(&self) -> TimestampMs {
        self.environment.clock.now()
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Release);
        self.shared.wake.notify_one();
    }
}

/// A call that waits for room: while there is one, batches do not linger.
struct Waiting<'a>(&'a Shared);

impl<'a> Waiting<'a> {
    fn begin(shared: &'a Shared) -> Self {
        shared.waiting.fetch_add(1, Ordering::Relaxed);
        shared.wake.notify_one();
        Self(shared)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
