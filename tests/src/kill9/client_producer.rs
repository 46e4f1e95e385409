//! A producer of the load that uses the client: batching, idempotent, its retries the client's own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use futures::stream::FuturesOrdered;
use tidemill_client::{Client, ClientConfig, Codec, Delivery, Producer, ProducerConfig, Record};

use super::ledger::{Ledger, Place};
use super::raw_producer::Post;
use super::rest::Rest;
use super::stamp::Stamp;
use crate::chance::Chance;

/// Records that are sent before their deliveries are waited for.
const BURST_RECORDS: u64 = 64;
/// A record may wait so long for a server that is killed again and again.
const DELIVERY_TIMEOUT_MS: u64 = 180_000;

/// A client of the server under siege: it tries again sooner than by default.
pub(crate) fn client(kafka: SocketAddr, name: &str) -> Result<Client> {
    let config = ClientConfig {
        client_id: name.to_owned(),
        retry_backoff_ms: 20,
        retry_backoff_max_ms: 200,
        reconnect_backoff_ms: 20,
        reconnect_backoff_max_ms: 200,
        ..ClientConfig::new(kafka.to_string())
    };
    Client::new(config).context("make a client")
}

/// The producer.
pub(crate) struct ClientProducer {
    post: Post,
    ledger: Arc<Ledger>,
    rest: Arc<Rest>,
    next: Vec<u64>,
    chance: Chance,
}

impl ClientProducer {
    pub(crate) fn new(post: Post, ledger: Arc<Ledger>, rest: Arc<Rest>) -> Self {
        let next = vec![0; ledger.partitions().len()];
        let chance = Chance::of(post.seed, u64::from(post.producer));
        Self { post, ledger, rest, next, chance }
    }

    /// Produces until the load ends.
    pub(crate) async fn run(mut self) {
        if let Err(error) = self.produce().await {
            let producer = self.post.producer;
            self.ledger.other(format_args!("client producer {producer}: {error:#}"));
        }
    }

    async fn produce(&mut self) -> Result<()> {
        let codec = *self.chance.pick(&[Codec::None, Codec::Lz4, Codec::Zstd]);
        let config = ProducerConfig {
            codec,
            linger_ms: 2,
            delivery_timeout_ms: DELIVERY_TIMEOUT_MS,
            send_block_ms_max: DELIVERY_TIMEOUT_MS,
            ..ProducerConfig::default()
        };
        let client = client(self.post.kafka, "kill9-producer")?;
        let producer = client.producer(config).context("make a producer")?;
        let burst = BURST_RECORDS << 10;
        let pause = Duration::from_micros(burst * 1_000_000 / self.post.rate_bytes);
        while !self.rest.is_ended() {
            if self.rest.is_wanted() {
                self.rest.rests(self.post.place);
                tokio::time::sleep(Duration::from_millis(1)).await;
                continue;
            }
            let begun = tokio::time::Instant::now();
            self.burst(&producer).await?;
            tokio::time::sleep_until(begun + pause).await;
        }
        Ok(())
    }

    async fn burst(&mut self, producer: &Producer) -> Result<()> {
        let mut deliveries = FuturesOrdered::new();
        for _ in 0..BURST_RECORDS {
            let place = self.chance.below(self.next.len());
            let stamp = Stamp { producer: self.post.producer, number: self.next[place] };
            let delivery = self.send(producer, place, stamp).await?;
            self.next[place] += 1;
            self.ledger.sent(place, self.post.producer, self.next[place]);
            deliveries.push_back(async move { (place, stamp, delivery.await) });
        }
        while let Some((place, stamp, delivered)) = deliveries.next().await {
            let metadata = delivered.with_context(|| format!("deliver {stamp:?}"))?;
            if let Some(offset) = metadata.offset {
                self.ledger.acked(place, offset.0, stamp, 1);
            }
        }
        Ok(())
    }

    async fn send(&self, producer: &Producer, place: Place, stamp: Stamp) -> Result<Delivery> {
        let partition = &self.ledger.partitions()[place];
        let record = Record::to(partition.topic.clone())
            .partition(partition.partition.0)
            .value(stamp.value());
        producer.send(record).await.with_context(|| format!("send {stamp:?}"))
    }
}
