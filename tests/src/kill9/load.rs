//! All producers and the consumer, as they run through every kill.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::{self, Runtime};

use super::client_producer::ClientProducer;
use super::committer::{self, Committer};
use super::ledger::Ledger;
use super::raw_producer::{Post, RawProducer};
use super::rest::Rest;
use super::tail_consumer::TailConsumer;

/// Producers of the client, idempotent ones of our own, plain ones of our own.
const CLIENTS: u32 = 2;
const RAW: u32 = 2;
const PLAIN: u32 = 1;
/// How many producers there are.
pub(crate) const PRODUCERS: u32 = CLIENTS + RAW + PLAIN;
/// Those who rest when asked: the producers and the committer.
const WORKERS: u32 = PRODUCERS + 1;
/// Bytes of values a second, of each.
const RATE_BYTES: u64 = 1 << 20;

/// A load at work.
pub(crate) struct Load {
    ledger: Arc<Ledger>,
    rest: Arc<Rest>,
    threads: Vec<JoinHandle<()>>,
    runtime: Option<Runtime>,
    /// So long all that is under way may take to be answered, once the server is there again, and the
    /// consumer to read what is there.
    patience: Duration,
}

impl Load {
    /// Starts the load. Producers have ids from `first_producer` on.
    pub(crate) fn start(
        kafka: SocketAddr,
        ledger: &Arc<Ledger>,
        first_producer: u32,
        seed: u64,
        patience: Duration,
    ) -> Result<Self> {
        let rest = Arc::new(Rest::default());
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("start a runtime")?;
        let consumer = TailConsumer { kafka, ledger: ledger.clone(), rest: rest.clone() };
        let handle = runtime.handle().clone();
        let thread = thread::Builder::new().name("consumer".to_owned());
        let thread = thread.spawn(move || handle.block_on(consumer.run()));
        let mut threads = vec![thread.context("start a thread")?];
        let committed = committer::committed(kafka)?;
        let committer = Committer {
            place: PRODUCERS,
            kafka,
            ledger: ledger.clone(),
            rest: rest.clone(),
            acked: committed,
            sent: committed,
        };
        let thread = thread::Builder::new().name("committer".to_owned());
        threads.push(thread.spawn(move || committer.run()).context("start a thread")?);
        for place in 0..PRODUCERS {
            let producer = first_producer + place;
            let post = Post { producer, place, kafka, seed, rate_bytes: RATE_BYTES };
            if place < CLIENTS {
                let producer = ClientProducer::new(post, ledger.clone(), rest.clone());
                drop(runtime.spawn(producer.run()));
                continue;
            }
            let is_idempotent = place < CLIENTS + RAW;
            let producer = RawProducer::new(post, ledger.clone(), rest.clone(), is_idempotent);
            let thread = thread::Builder::new().name(format!("producer-{place}"));
            let thread = thread.spawn(move || producer.run()).context("start a thread")?;
            threads.push(thread);
        }
        Ok(Self { ledger: ledger.clone(), rest, threads, runtime: Some(runtime), patience })
    }

    /// Lets all that is under way be answered.
    pub(crate) fn rest(&self) {
        if let Err(busy) = self.rest.ask(WORKERS, self.patience) {
            let words = format!("workers {busy:?} have no answer after {:?}", self.patience);
            self.ledger.other(words);
        }
    }

    /// Waits until the consumer has seen as many records of each partition as `ends` says.
    pub(crate) fn wait_for_consumer(&self, ends: &[u64]) {
        let begun = std::time::Instant::now();
        for (place, end) in ends.iter().enumerate() {
            while self.ledger.next_seen(place) < *end {
                if begun.elapsed() > self.patience {
                    let partition = &self.ledger.partitions()[place];
                    let at = self.ledger.next_seen(place);
                    self.ledger.other(format_args!(
                        "the consumer stands at {at} of {end} of {partition} \
                         after {:?}",
                        self.patience
                    ));
                    return;
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
    }

    /// Goes on after a rest.
    pub(crate) fn go_on(&self) {
        self.rest.over();
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.rest.end();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                self.ledger.other("a thread of the load panicked");
            }
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(2));
        }
    }
}
