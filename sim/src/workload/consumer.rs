//! A consumer that reads a partition from its start, over and over: whatever it was shown must stay.

use std::time::Duration;

use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::fetch::PartitionData;

use super::{Clients, requests};
use crate::history::Place;

/// Consumes one partition of a topic until the run ends.
pub async fn run(clients: Clients, topic: &'static str, partition: i32) {
    let mut gateway = clients.gateway();
    let mut place: Option<Place> = None;
    let mut offset = 0;
    let mut high_watermark = 0;
    while !clients.is_ending() {
        gateway.wait_until_up().await;
        let pause = clients.chance.between(2, 60);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let Some(known) = place else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            if let Ok(metadata) = gateway.call(&requests::metadata(topic), 12).await
                && metadata.topics[0].error_code.is_ok()
            {
                place = Some((metadata.topics[0].topic_id, partition));
                (offset, high_watermark) = (0, 0);
            }
            continue;
        };
        let Ok(mut response) = gateway.call(&requests::fetch(known, offset, 200), 13).await else {
            clients.history.operation("fetch lost", 0);
            continue;
        };
        let data = response.responses.remove(0).partitions.remove(0);
        clients.history.operation("fetch", data.error_code.0 as u64);
        match data.error_code {
            ErrorCode::NONE if data.high_watermark < high_watermark => {
                clients.history.violation(format!(
                    "the high watermark of {known:?} went from {high_watermark} back to {}",
                    data.high_watermark
                ));
            }
            ErrorCode::NONE => {
                high_watermark = data.high_watermark;
                offset = observe(&clients, known, offset, data);
            }
            ErrorCode::OFFSET_OUT_OF_RANGE => {
                clients.rare_events.add("fetch out of range", 1);
                offset = earliest(&clients, &mut gateway, topic, partition, offset).await;
            }
            ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => place = None,
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
        if clients.chance.hits(10_000) {
            offset = 0;
        }
    }
}

/// Notes what was shown, and returns where to go on.
fn observe(clients: &Clients, place: Place, offset: i64, data: PartitionData) -> i64 {
    let bytes = data.records.unwrap_or_default().to_bytes();
    let records = match requests::read(&bytes) {
        Ok(records) => records,
        Err(error) => {
            clients.history.violation(format!("a fetch of {place:?} at {offset} brought {error}"));
            return offset;
        }
    };
    let mut next = offset;
    for (record_offset, value) in records.into_iter().filter(|(at, _)| at.0 >= offset) {
        if record_offset.0 != next {
            clients.history.violation(format!(
                "a fetch of {place:?} went from offset {next} to {record_offset}"
            ));
        }
        clients.history.saw(place, record_offset.0, value);
        next = record_offset.0 + 1;
    }
    next
}

async fn earliest(
    clients: &Clients,
    gateway: &mut crate::world::gateway::Gateway,
    topic: &str,
    partition: i32,
    offset: i64,
) -> i64 {
    let request = requests::list_offsets(topic, partition, -2);
    match gateway.call(&request, 7).await {
        Ok(response) if response.topics[0].partitions[0].error_code.is_ok() => {
            clients.history.operation("earliest", 0);
            response.topics[0].partitions[0].offset
        }
        _ => offset,
    }
}
