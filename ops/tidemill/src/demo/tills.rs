//! The shop's tills: producers, each with customers of its own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tidemill_base::Clock;
use tidemill_client::{Client, Delivery, Producer, ProducerConfig, Record};
use tokio::sync::watch;

use crate::demo::shop::{Event, Till, customer_name};
use crate::demo::stage::{Stage, TOPIC};
use crate::ports::SystemClock;

/// How many tills there are.
pub(super) const TILLS: u64 = 4;

/// Events of a till that are not acknowledged yet.
const WAITING_MAX: usize = 10_000;

/// How far selling has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Events acknowledged, which means durable.
    pub(super) acknowledged: AtomicU64,
    /// Bytes of their keys and values.
    pub(super) bytes: AtomicU64,
}

/// What the producers sold: how many events each customer has.
pub(super) type Sold = BTreeMap<String, u64>;

/// Produces the events of all tills; returns when all are acknowledged. The second half waits until
/// `second_half` becomes true.
pub(super) async fn sell(
    stage: &Stage,
    progress: &Arc<Progress>,
    second_half: &watch::Receiver<bool>,
) -> tidemill_client::Result<Sold> {
    let mut tills = tokio::task::JoinSet::new();
    for index in 0..TILLS {
        let till = Till::new(stage.seed, index, TILLS, stage.customers);
        let count = events_of(index, stage.events);
        let (client, progress) = (stage.client.clone(), Arc::clone(progress));
        let second_half = second_half.clone();
        tills.spawn(async move { sell_at(till, count, &client, &progress, second_half).await });
    }
    let mut sold = Sold::new();
    while let Some(till) = tills.join_next().await {
        // A panic of a till is a panic of the demo.
        sold.extend(till.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?);
    }
    Ok(sold)
}

/// How many of all events till `index` produces.
fn events_of(index: u64, events: u64) -> u64 {
    events / TILLS + u64::from(index < events % TILLS)
}

/// How many events all tills produce before they wait for the second half.
pub(super) fn first_half(events: u64) -> u64 {
    (0..TILLS).map(|index| events_of(index, events) / 2).sum()
}

async fn sell_at(
    mut till: Till,
    count: u64,
    client: &Client,
    progress: &Progress,
    mut second_half: watch::Receiver<bool>,
) -> tidemill_client::Result<Sold> {
    let config = ProducerConfig { batch_bytes_max: 64 << 10, ..ProducerConfig::default() };
    let producer = client.producer(config)?;
    let mut waiting = VecDeque::with_capacity(WAITING_MAX);
    for at in 0..count {
        if at == count / 2 {
            all_acknowledged(&mut waiting, progress).await?;
            // Whoever would open the second half is gone only if the demo is.
            let _ = second_half.wait_for(|is_open| *is_open).await;
        }
        if waiting.len() == WAITING_MAX {
            acknowledged(&mut waiting, progress).await?;
        }
        let event = till.next_event(SystemClock.now().0);
        waiting.push_back(send(&producer, event).await?);
    }
    all_acknowledged(&mut waiting, progress).await?;
    producer.close(10_000).await?;
    let sold = till.counts().filter(|(_, events)| *events > 0);
    Ok(sold.map(|(customer, events)| (customer_name(customer), events)).collect())
}

async fn send(producer: &Producer, event: Event) -> tidemill_client::Result<(u64, Delivery)> {
    let bytes = (event.key.len() + event.value.len()) as u64;
    let record = Record::to(TOPIC).key(event.key).value(event.value).header("event", event.kind);
    Ok((bytes, producer.send(record).await?))
}

/// Waits for every event to be acknowledged.
async fn all_acknowledged(
    waiting: &mut VecDeque<(u64, Delivery)>,
    progress: &Progress,
) -> tidemill_client::Result<()> {
    while !waiting.is_empty() {
        acknowledged(waiting, progress).await?;
    }
    Ok(())
}

/// Waits for the oldest event to be acknowledged.
async fn acknowledged(
    waiting: &mut VecDeque<(u64, Delivery)>,
    progress: &Progress,
) -> tidemill_client::Result<()> {
    if let Some((bytes, delivery)) = waiting.pop_front() {
        delivery.await?;
        progress.acknowledged.fetch_add(1, Ordering::Relaxed);
        progress.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
    Ok(())
}
