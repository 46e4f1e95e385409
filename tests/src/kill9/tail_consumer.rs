//! A consumer that reads all partitions from their beginning and goes on whatever happens to the
//! server. What it saw must never change.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tidemill_client::cluster::offsets::OffsetSpec;
use tidemill_client::{ConsumerConfig, ErrorKind};

use super::client_producer::client;
use super::ledger::Ledger;
use super::rest::Rest;

/// The consumer.
pub(crate) struct TailConsumer {
    pub(crate) kafka: SocketAddr,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) rest: Arc<Rest>,
}

impl TailConsumer {
    /// Consumes until the load ends.
    pub(crate) async fn run(self) {
        if let Err(error) = self.consume().await {
            self.ledger.other(format_args!("consumer: {error:#}"));
        }
    }

    async fn consume(&self) -> Result<()> {
        let client = client(self.kafka, "kill9-consumer")?;
        let config = ConsumerConfig { poll_records_max: 5_000, ..ConsumerConfig::default() };
        let mut consumer = client.consumer(config).context("make a consumer")?;
        let partitions = self.ledger.partitions().iter().cloned();
        consumer.assign_at(partitions, OffsetSpec::Earliest).context("assign")?;
        while !self.rest.is_ended() {
            let records = match consumer.poll(100).await {
                Ok(records) => records,
                // The server was away for longer than the client tries by itself.
                Err(error) if matches!(error.kind(), ErrorKind::Retry | ErrorKind::Ambiguous) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
                Err(error) => return Err(error).context("poll"),
            };
            for record in records {
                let partitions = self.ledger.partitions();
                let place = partitions.iter().position(|one| *one == record.partition);
                let place = place.context("a record of a partition that was not asked for")?;
                let offset = u64::try_from(record.offset.0).context("a negative offset")?;
                self.ledger.seen(place, offset, record.value.as_deref());
            }
        }
        Ok(())
    }
}
