//! An idempotent producer with five requests in flight, which resends in order what was not
//! acknowledged, as clients do.

use std::collections::VecDeque;
use std::time::Duration;

use futures::future::join_all;
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::ProduceResponse;
use tidemill_kafka::messages::init_producer_id::InitProducerIdRequest;
use tidemill_records::Codec;

use super::{Clients, requests};
use crate::history::{Place, Value};
use crate::world::gateway::{Gateway, Lost};

/// Requests in flight: as many as the broker keeps batches of a producer.
const IN_FLIGHT: usize = 5;
const PRODUCE_VERSION: i16 = 13;

struct Batch {
    sequence: i32,
    values: Vec<Value>,
}

/// What an answer means for its batch.
enum Verdict {
    Acknowledged(i64),
    Again,
    TopicGone,
}

struct Producer {
    clients: Clients,
    gateway: Gateway,
    number: u32,
    next_number: u64,
}

/// Produces into one partition of a topic until the run ends; goes on in the topic's next life when
/// it is deleted.
pub async fn run(clients: Clients, number: u32, topic: &'static str, partition: i32) {
    let gateway = clients.gateway();
    let mut producer = Producer { clients, gateway, number, next_number: 0 };
    while !producer.clients.is_ending() {
        producer.gateway.wait_until_up().await;
        let id = match producer.gateway.call(&requests::metadata(topic), 12).await {
            Ok(metadata) if metadata.topics[0].error_code.is_ok() => metadata.topics[0].topic_id,
            _ => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        producer.produce_into((id, partition)).await;
    }
}

impl Producer {
    async fn producer_id(&mut self) -> Option<i64> {
        let request = InitProducerIdRequest::default();
        match self.gateway.call(&request, 4).await {
            Ok(response) if response.error_code.is_ok() => Some(response.producer_id),
            _ => None,
        }
    }

    /// Produces until the topic is gone or the run ends. What is not acknowledged at the end has an
    /// unknown fate.
    async fn produce_into(&mut self, place: Place) {
        let Some(id) = self.producer_id().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            return;
        };
        let mut sequence = 0;
        let mut window: VecDeque<Batch> = VecDeque::new();
        loop {
            while window.len() < IN_FLIGHT && !self.clients.is_ending() {
                let batch = self.batch(place, sequence);
                sequence += batch.values.len() as i32;
                window.push_back(batch);
            }
            if window.is_empty() {
                return;
            }
            let verdicts = self.send_all(place, id, &window).await;
            if !self.settle(place, &mut window, verdicts) {
                return;
            }
            let pause = self.clients.chance.between(5, 90);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }

    fn batch(&mut self, place: Place, sequence: i32) -> Batch {
        let count = self.clients.chance.between(1, 4);
        let values = (0..count).map(|_| {
            self.next_number += 1;
            let (producer, number) = (self.number, self.next_number);
            Value { topic: place.0, producer, number, idempotent: true }
        });
        Batch { sequence, values: values.collect() }
    }

    async fn send_all(&mut self, place: Place, id: i64, window: &VecDeque<Batch>) -> Vec<Verdict> {
        self.gateway.wait_until_up().await;
        let mut answers = Vec::new();
        for batch in window {
            let codec = [Codec::None, Codec::Lz4][(batch.sequence % 2) as usize];
            let records = requests::batch(&batch.values, Some((id, batch.sequence)), codec);
            let answer = self.gateway.send(&requests::produce(place, records), PRODUCE_VERSION);
            answers.push(async move {
                match answer {
                    Ok(answer) => answer.await,
                    Err(lost) => Err(lost),
                }
            });
        }
        let answers = join_all(answers).await;
        (0..).zip(answers).map(|(index, answer)| self.verdict(index, answer)).collect()
    }

    fn verdict(&self, index: usize, answer: Result<ProduceResponse, Lost>) -> Verdict {
        let Ok(response) = answer else {
            self.clients.history.operation("produce lost", 0);
            return Verdict::Again;
        };
        let partition = &response.responses[0].partition_responses[0];
        let code = partition.error_code;
        self.clients.history.operation("produce", code.0 as u64);
        match code {
            ErrorCode::NONE => Verdict::Acknowledged(partition.base_offset),
            ErrorCode::UNKNOWN_TOPIC_ID | ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
                Verdict::TopicGone
            }
            // The broker's clock jumped; it will come back.
            ErrorCode::INVALID_TIMESTAMP => Verdict::Again,
            // Behind a batch that failed in this very round.
            ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER if index > 0 => Verdict::Again,
            code if code.is_retriable() => Verdict::Again,
            code => {
                let number = self.number;
                self.clients.history.violation(format!(
                    "idempotent producer {number} was told {code:?} for batch {index} of its window"
                ));
                Verdict::TopicGone
            }
        }
    }

    /// Takes what was acknowledged out of the window. False: start anew.
    fn settle(&self, place: Place, window: &mut VecDeque<Batch>, verdicts: Vec<Verdict>) -> bool {
        let mut failed_before = false;
        for verdict in verdicts {
            match verdict {
                Verdict::TopicGone => return false,
                Verdict::Again => failed_before = true,
                Verdict::Acknowledged(base) => {
                    if failed_before {
                        // The answer to an earlier batch was lost, not the batch: resending it will
                        // be answered as a duplicate, and this one again.
                        self.clients.rare_events.add("duplicate answered", 1);
                        continue;
                    }
                    if let Some(batch) = window.pop_front() {
                        self.clients.history.acknowledged(place, base, &batch.values);
                    }
                }
            }
        }
        true
    }
}
