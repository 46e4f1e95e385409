//! The audit: everything is read back from the first offset on, and counted.

use std::collections::BTreeMap;

use tidemill_client::cluster::offsets::OffsetSpec;
use tidemill_client::{Client, ConsumerConfig, Offset, TopicPartition};

use crate::demo::stage::TOPIC;
use crate::demo::tally::{Seen, Tally};

/// How long one look for events waits.
const POLL_MS: u64 = 500;

/// Reads the whole topic once. Offsets must follow one another without holes.
pub(super) async fn audit(client: &Client) -> tidemill_client::Result<Tally> {
    let config = ConsumerConfig { poll_records_max: 10_000, ..ConsumerConfig::default() };
    let mut consumer = client.consumer(config)?;
    let partitions = consumer.partitions(TOPIC).await?;
    let wanted = partitions.iter().map(|one| (one.clone(), OffsetSpec::Latest)).collect();
    let mut ends: BTreeMap<TopicPartition, Offset> = BTreeMap::new();
    for (partition, listed) in consumer.list_offsets(&wanted).await {
        ends.insert(partition, listed?.offset.unwrap_or(Offset(0)));
    }
    consumer.assign_at(partitions, OffsetSpec::Earliest)?;
    let mut tally = Tally::default();
    let mut next: BTreeMap<TopicPartition, i64> = BTreeMap::new();
    let is_done = |next: &BTreeMap<TopicPartition, i64>| {
        ends.iter().all(|(partition, end)| next.get(partition).copied().unwrap_or(0) >= end.0)
    };
    while !is_done(&next) {
        for record in consumer.poll(POLL_MS).await? {
            let expected = next.entry(record.partition.clone()).or_default();
            if record.offset.0 != *expected {
                let (partition, offset) = (&record.partition, record.offset.0);
                tally.fault(format!("{partition}: offset {offset} came where {expected} should"));
            }
            *expected = record.offset.0 + 1;
            match Seen::of(record.key.as_deref(), record.value.as_deref()) {
                Ok(seen) => tally.take(&seen),
                Err(fault) => tally.fault(fault),
            }
        }
    }
    Ok(tally)
}
