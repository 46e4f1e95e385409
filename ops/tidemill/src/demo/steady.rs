//! A steady trickle of events, to see how long one takes when nothing queues.

use std::time::{Duration, Instant};

use futures::stream::{FuturesUnordered, StreamExt};
use tidemill_client::admin::NewTopic;
use tidemill_client::cluster::offsets::OffsetSpec;
use tidemill_client::{Client, Consumer, ConsumerConfig, ProducerConfig, Record};
use tokio::time::MissedTickBehavior;

/// The topic of the trickle.
const TOPIC: &str = "shop.steady";

/// Events in all, one in each interval.
const EVENTS: u64 = 4_000;

/// Between two events.
const INTERVAL: Duration = Duration::from_micros(500);

/// How long events took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Latencies {
    /// From send to acknowledged: half of them, and 99 of 100.
    pub(super) acknowledged: (Duration, Duration),
    /// From send to received by a consumer.
    pub(super) received: (Duration, Duration),
}

/// How many events a second are sent.
pub(super) fn events_per_second() -> u64 {
    1_000_000 / INTERVAL.as_micros() as u64
}

/// Sends and receives the trickle.
pub(super) async fn trickle(client: &Client) -> tidemill_client::Result<Latencies> {
    client.admin()?.create_topic(NewTopic::new(TOPIC).partitions(3)).await?;
    let mut consumer =
        client.consumer(ConsumerConfig { fetch_wait_ms_max: 100, ..ConsumerConfig::default() })?;
    let partitions = consumer.partitions(TOPIC).await?;
    consumer.assign_at(partitions, OffsetSpec::Earliest)?;
    let begun = Instant::now();
    let (acknowledged, received) =
        tokio::try_join!(send_all(client, begun), receive_all(consumer, begun))?;
    Ok(Latencies { acknowledged: half_and_most(acknowledged), received: half_and_most(received) })
}

async fn send_all(client: &Client, begun: Instant) -> tidemill_client::Result<Vec<Duration>> {
    let producer = client.producer(ProducerConfig { linger_ms: 0, ..ProducerConfig::default() })?;
    let mut interval = tokio::time::interval(INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut waiting = FuturesUnordered::new();
    let mut took = Vec::new();
    let mut sent_count = 0;
    while sent_count < EVENTS {
        tokio::select! {
            biased;
            _ = interval.tick() => sent_count += 1,
            Some(done) = waiting.next() => {
                took.push(done?);
                continue;
            }
        }
        let sent = begun.elapsed();
        let record = Record::to(TOPIC).value(sent.as_nanos().to_string());
        let delivery = producer.send(record).await?;
        waiting.push(async move {
            delivery.await?;
            tidemill_client::Result::Ok(begun.elapsed().saturating_sub(sent))
        });
    }
    while let Some(done) = waiting.next().await {
        took.push(done?);
    }
    Ok(took)
}

async fn receive_all(
    mut consumer: Consumer,
    begun: Instant,
) -> tidemill_client::Result<Vec<Duration>> {
    let mut took = Vec::new();
    while (took.len() as u64) < EVENTS {
        for record in consumer.poll(500).await? {
            let sent = std::str::from_utf8(record.value.as_deref().unwrap_or_default());
            let sent = sent.ok().and_then(|nanos| nanos.parse().ok()).map(Duration::from_nanos);
            took.push(begun.elapsed().saturating_sub(sent.unwrap_or_default()));
        }
    }
    Ok(took)
}

/// The time that half of them stay below, and the time that 99 of 100 do.
fn half_and_most(mut took: Vec<Duration>) -> (Duration, Duration) {
    took.sort_unstable();
    let at = |percent: usize| {
        let index = (took.len() * percent).div_ceil(100).saturating_sub(1);
        took.get(index).copied().unwrap_or_default()
    };
    (at(50), at(99))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_most_are_the_nearest_ranks() {
        let took = (1..=200).map(Duration::from_millis).rev().collect();
        assert_eq!(half_and_most(took), (Duration::from_millis(100), Duration::from_millis(198)));
        assert_eq!(half_and_most(Vec::new()), (Duration::ZERO, Duration::ZERO));
    }
}
