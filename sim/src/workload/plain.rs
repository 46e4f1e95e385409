//! A producer without ids: what is acknowledged must be there, what is lost may be.

use std::time::Duration;

use tidemill_records::Codec;

use super::{Clients, requests};
use crate::history::Value;

/// Produces into one partition of a topic until the run ends.
pub async fn run(clients: Clients, number: u32, topic: &'static str, partition: i32) {
    let mut gateway = clients.gateway();
    let mut next_number = 0;
    while !clients.is_ending() {
        gateway.wait_until_up().await;
        let pause = clients.chance.between(5, 120);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let Ok(metadata) = gateway.call(&requests::metadata(topic), 12).await else { continue };
        if metadata.topics[0].error_code.is_error() {
            continue;
        }
        let place = (metadata.topics[0].topic_id, partition);
        let values: Vec<Value> = (0..clients.chance.between(1, 8))
            .map(|_| {
                next_number += 1;
                Value { topic: place.0, producer: number, number: next_number, idempotent: false }
            })
            .collect();
        let records = requests::batch(&values, None, Codec::None);
        match gateway.call(&requests::produce(place, records), 13).await {
            Ok(response) => {
                let answer = &response.responses[0].partition_responses[0];
                clients.history.operation("plain produce", answer.error_code.0 as u64);
                if answer.error_code.is_ok() {
                    clients.history.acknowledged(place, answer.base_offset, &values);
                }
            }
            Err(_) => clients.history.operation("plain produce lost", 0),
        }
    }
}
