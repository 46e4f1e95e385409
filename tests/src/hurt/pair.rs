//! The healthy pair: a producer and a consumer of the client that go on while others attack. Neither
//! must ever see an error, and what is consumed is exactly what was produced.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tidemill_client::cluster::offsets::OffsetSpec;
use tidemill_client::{
    Client, ClientConfig, ConsumerConfig, Delivery, ProducerConfig, Record, TopicPartition,
};
use tokio::runtime::{self, Handle, Runtime};
use tokio::sync::mpsc;

const TOPIC: &str = "healthy";
/// How many partitions the pair uses.
pub(super) const PARTITIONS: i32 = 2;
const RECORD_BYTES: usize = 256;
/// Between two records.
const PAUSE: Duration = Duration::from_millis(4);
/// Deliveries that may be waited for at once.
const WAITING_MAX: usize = 10_000;
/// A delivery that takes longer means that others were harmed: attackers stall for far longer.
const DELIVERY_MAX: Duration = Duration::from_secs(8);
/// So long what was produced may take to be consumed in the end.
const FINISH_TIMEOUT: Duration = Duration::from_secs(30);

/// What the pair has done since it was last asked.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    delivered: u64,
    consumed: u64,
    /// The longest delivery.
    worst: Duration,
    errors: Vec<String>,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { delivered, consumed, worst, .. } = self;
        write!(f, "{delivered} delivered, {consumed} consumed, worst {worst:.0?}")
    }
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    since: Mutex<Done>,
    totals: Mutex<Totals>,
}

#[derive(Debug, Default)]
struct Totals {
    /// By partition: how many were delivered.
    delivered: BTreeMap<i32, u64>,
    /// By partition: how many were consumed.
    consumed: BTreeMap<i32, u64>,
}

/// The pair at work.
pub(super) struct Pair {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    runtime: Option<Runtime>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn error(&self, error: impl fmt::Display) {
        lock(&self.since).errors.push(error.to_string());
    }
}

impl Pair {
    /// Starts the pair. Its topic must be there.
    pub(super) fn start(kafka: SocketAddr) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("start a runtime")?;
        let config = ClientConfig {
            client_id: TOPIC.to_owned(),
            retry_backoff_ms: 20,
            retry_backoff_max_ms: 200,
            reconnect_backoff_ms: 20,
            reconnect_backoff_max_ms: 200,
            ..ClientConfig::new(kafka.to_string())
        };
        let client = Client::new(config).context("make a client")?;
        let threads = vec![
            on_thread("producer", runtime.handle(), &client, &shared, produce)?,
            on_thread("consumer", runtime.handle(), &client, &shared, consume)?,
        ];
        Ok(Self { shared, threads, runtime: Some(runtime) })
    }

    /// What it has done since it was last asked.
    pub(super) fn take(&self) -> Done {
        std::mem::take(&mut lock(&self.shared.since))
    }

    /// Waits until both have done something, and checks that neither saw an error.
    pub(super) fn check(&self) -> Result<Done> {
        let begun = Instant::now();
        loop {
            let done = lock(&self.shared.since).clone();
            if let Some(error) = done.errors.first() {
                bail!("the healthy pair saw {} errors: {error}", done.errors.len());
            }
            ensure!(done.worst < DELIVERY_MAX, "the healthy pair was kept waiting: {done}");
            if done.delivered > 0 && done.consumed > 0 {
                self.take();
                return Ok(done);
            }
            ensure!(begun.elapsed() < FINISH_TIMEOUT, "the healthy pair stands still: {done}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the producer, lets the consumer read all, and checks the sums.
    pub(super) fn finish(mut self) -> Result<String> {
        self.shared.is_over.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                bail!("a thread of the healthy pair panicked");
            }
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(2));
        }
        let done = self.take();
        if let Some(error) = done.errors.first() {
            bail!("the healthy pair saw {} errors: {error}", done.errors.len());
        }
        let totals = lock(&self.shared.totals);
        ensure!(
            totals.delivered == totals.consumed,
            "delivered by partition {:?}, consumed {:?}",
            totals.delivered,
            totals.consumed
        );
        let sum: u64 = totals.delivered.values().sum();
        Ok(format!("{sum} records delivered and consumed once, in order"))
    }
}

/// Runs `work` on a thread of its own.
fn on_thread<F: Future<Output = Result<()>> + 'static>(
    name: &'static str,
    handle: &Handle,
    client: &Client,
    shared: &Arc<Shared>,
    work: fn(Client, Arc<Shared>) -> F,
) -> Result<JoinHandle<()>> {
    let (handle, client, shared) = (handle.clone(), client.clone(), shared.clone());
    let thread = thread::Builder::new().name(name.to_owned());
    let run = move || {
        if let Err(error) = handle.block_on(work(client, shared.clone())) {
            shared.error(format_args!("{name}: {error:#}"));
        }
    };
    thread.spawn(run).context("start a thread")
}

async fn produce(client: Client, shared: Arc<Shared>) -> Result<()> {
    let producer = client.producer(ProducerConfig { linger_ms: 0, ..ProducerConfig::default() });
    let producer = producer.context("make a producer")?;
    let (tell, deliveries) = mpsc::channel(WAITING_MAX);
    let counting = tokio::spawn(count_deliveries(deliveries, shared.clone()));
    let mut next = [0_u64; PARTITIONS as usize];
    for turn in 0_usize.. {
        if shared.is_over.load(Ordering::SeqCst) {
            break;
        }
        let partition = turn % next.len();
        let mut value = vec![0; RECORD_BYTES];
        value[..8].copy_from_slice(&next[partition].to_be_bytes());
        let record = Record::to(TOPIC).partition(partition as i32).value(value);
        let sent = Instant::now();
        let delivery = producer.send(record).await.context("send")?;
        next[partition] += 1;
        if tell.send((sent, delivery)).await.is_err() {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    drop(tell);
    counting.await.context("count deliveries")
}

async fn count_deliveries(
    mut deliveries: mpsc::Receiver<(Instant, Delivery)>,
    shared: Arc<Shared>,
) {
    while let Some((sent, delivery)) = deliveries.recv().await {
        match delivery.await {
            Ok(metadata) => {
                *lock(&shared.totals)
                    .delivered
                    .entry(metadata.partition.partition.0)
                    .or_default() += 1;
                let mut since = lock(&shared.since);
                since.delivered += 1;
                since.worst = since.worst.max(sent.elapsed());
            }
            Err(error) => shared.error(format_args!("delivery: {error}")),
        }
    }
}

async fn consume(client: Client, shared: Arc<Shared>) -> Result<()> {
    let mut consumer = client.consumer(ConsumerConfig::default()).context("make a consumer")?;
    let partitions = (0..PARTITIONS).map(|partition| TopicPartition::new(TOPIC, partition));
    consumer.assign_at(partitions, OffsetSpec::Earliest).context("assign")?;
    let mut over_since = None;
    loop {
        for record in consumer.poll(100).await.context("poll")? {
            let partition = record.partition.partition.0;
            let value = record.value.as_deref().and_then(|value| value.first_chunk());
            let number = value.copied().map(u64::from_be_bytes).context("a record of others")?;
            let mut totals = lock(&shared.totals);
            let consumed = totals.consumed.entry(partition).or_default();
            ensure!(number == *consumed, "{partition}: record {number} after {consumed} records");
            ensure!(record.offset.0 as u64 == number, "record {number} at {}", record.offset);
            *consumed += 1;
            lock(&shared.since).consumed += 1;
        }
        if shared.is_over.load(Ordering::SeqCst) {
            let over_since = *over_since.get_or_insert_with(Instant::now);
            let totals = lock(&shared.totals);
            let is_complete = totals.consumed == totals.delivered;
            // Deliveries may still be on their way just after the end.
            let elapsed = over_since.elapsed();
            if is_complete && elapsed > Duration::from_millis(500) || elapsed > FINISH_TIMEOUT {
                return Ok(());
            }
        }
    }
}
