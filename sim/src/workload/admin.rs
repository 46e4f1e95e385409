//! An administrator: makes topics, deletes and recreates one under load, deletes records, and asks
//! for the end of the log.

use std::time::Duration;

use tidemill_kafka::messages::delete_records::{
    DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic,
};
use tidemill_kafka::{ErrorCode, KString};
use uuid::Uuid;

use super::{Clients, FLEETING_TOPIC, LASTING_TOPICS, requests};
use crate::world::gateway::Gateway;

/// Works until the run ends.
pub async fn run(clients: Clients) {
    let mut gateway = clients.gateway();
    for (topic, partitions) in LASTING_TOPICS.iter().chain([&FLEETING_TOPIC]) {
        create(&clients, &mut gateway, topic, *partitions).await;
    }
    while !clients.is_ending() {
        let pause = clients.chance.between(50, 400);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        gateway.wait_until_up().await;
        match clients.chance.below(4) {
            0 => recreate(&clients, &mut gateway).await,
            1 => delete_records(&clients, &mut gateway).await,
            _ => check_end(&clients, &mut gateway).await,
        }
    }
}

/// Creates a topic, however often the answer is lost, and notes its id.
async fn create(clients: &Clients, gateway: &mut Gateway, topic: &str, partitions: i32) {
    loop {
        gateway.wait_until_up().await;
        let answer = gateway.call(&requests::create(topic, partitions), 7).await;
        clients.history.operation("create topic", u64::from(answer.is_ok()));
        if let Some(id) = id_of(gateway, topic).await {
            clients.history.created(topic, id);
            return;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

async fn id_of(gateway: &mut Gateway, topic: &str) -> Option<Uuid> {
    let metadata = gateway.call(&requests::metadata(topic), 12).await.ok()?;
    metadata.topics[0].error_code.is_ok().then_some(metadata.topics[0].topic_id)
}

async fn recreate(clients: &Clients, gateway: &mut Gateway) {
    let (topic, partitions) = FLEETING_TOPIC;
    let Some(id) = id_of(gateway, topic).await else { return };
    loop {
        gateway.wait_until_up().await;
        let answer = gateway.call(&requests::delete(id), 6).await;
        clients.history.operation("delete topic", u64::from(answer.is_ok()));
        match answer.map(|response| response.responses[0].error_code) {
            Ok(ErrorCode::NONE | ErrorCode::UNKNOWN_TOPIC_ID) => break,
            _ => tokio::time::sleep(Duration::from_millis(30)).await,
        }
    }
    clients.rare_events.add("topic recreated", 1);
    create(clients, gateway, topic, partitions).await;
}

async fn delete_records(clients: &Clients, gateway: &mut Gateway) {
    let (topic, partitions) = LASTING_TOPICS[0];
    let partition = clients.chance.below(partitions as u64) as i32;
    let Some((start, end)) = bounds(gateway, topic, partition).await else { return };
    let offset = start + clients.chance.below((end - start).max(1) as u64 / 2 + 1) as i64;
    let request = DeleteRecordsRequest {
        topics: vec![DeleteRecordsTopic {
            name: KString::from(topic),
            partitions: vec![DeleteRecordsPartition { partition_index: partition, offset }],
        }],
        timeout_ms: 5_000,
    };
    let answer = gateway.call(&request, 2).await;
    clients.history.operation("delete records", u64::from(answer.is_ok()));
    if let Ok(response) = answer {
        let partition = &response.topics[0].partitions[0];
        if partition.error_code.is_ok() && partition.low_watermark < offset {
            let low = partition.low_watermark;
            clients.history.violation(format!("records below {offset} deleted up to {low} only"));
        }
    }
}

async fn bounds(gateway: &mut Gateway, topic: &str, partition: i32) -> Option<(i64, i64)> {
    let mut ends = [0; 2];
    for (end, timestamp) in ends.iter_mut().zip([-2, -1]) {
        let request = requests::list_offsets(topic, partition, timestamp);
        let response = gateway.call(&request, 7).await.ok()?;
        let answer = &response.topics[0].partitions[0];
        answer.error_code.check().ok()?;
        *end = answer.offset;
    }
    Some((ends[0], ends[1]))
}

/// The end of the log, asked after an acknowledgement, is beyond what was acknowledged.
async fn check_end(clients: &Clients, gateway: &mut Gateway) {
    let (topic, partitions) = LASTING_TOPICS[0];
    let partition = clients.chance.below(partitions as u64) as i32;
    let Some(id) = id_of(gateway, topic).await else { return };
    let place = (id, partition);
    let acknowledged = clients.history.with(|observed| {
        let within = (place, 0)..=(place, i64::MAX);
        observed.acked.range(within).next_back().map(|((_, offset), _)| *offset)
    });
    let (Some(acknowledged), Some((_, end))) =
        (acknowledged, bounds(gateway, topic, partition).await)
    else {
        return;
    };
    clients.history.operation("check end", 0);
    if end <= acknowledged {
        clients.history.violation(format!(
            "the end of {place:?} is {end}, though offset {acknowledged} was acknowledged before"
        ));
    }
}
