//! Room on the disk runs low for a while, and in half of the cases out: producers are asked to come
//! again, consumers and metadata go on, and when there is room again so do producers, without a restart.
//!
//! No other fault strikes meanwhile, and nothing here ends the life: what does not come back is stuck.

use std::sync::Arc;
use std::time::Duration;

use tidemill_kafka::ErrorCode;
use tidemill_metadata_state::command::Tick;
use tidemill_records::Codec;
use tokio::time::{Instant, sleep, timeout};

use super::{Clients, LASTING_TOPICS, requests};
use crate::history::{Place, Value};
use crate::world::gateway::Gateway;
use crate::world::lives::{Life, SPACE};

/// As which producer the probes are written.
const PROBER: u32 = 1_000;
/// Room of a disk that is as good as full.
const FULL_BYTES_MAX: u64 = 16 << 10;
/// How long the node may take to notice: two of its looks at the disk, and some.
const NOTICE_MAX: Duration = Duration::from_millis(2_500);
/// How long a fetch may fail to bring what is there, and the metadata to answer.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// How long after there is room again records must be taken.
const RECOVERY_MAX: Duration = Duration::from_secs(10);

struct Probe<'a> {
    clients: &'a Clients,
    gateway: Gateway,
    life: Arc<Life>,
    place: Place,
}

/// Takes the disk's room, looks what becomes of clients, and gives it back.
pub async fn endure(clients: &Clients) {
    let Some(mut probe) = probe(clients).await else { return };
    // A slow sync of an earlier fault may still be under way.
    if timeout(RECOVERY_MAX, probe.metadata_answers()).await.is_err() {
        return;
    }
    let chance = &clients.chance;
    let room_bytes = match chance.hits(500_000) {
        true => chance.below(FULL_BYTES_MAX),
        false => chance.between(SPACE.critical_bytes, SPACE.low_water_bytes - 1),
    };
    let lasts = Duration::from_millis(chance.between(1_500, 4_000));
    let had_reserve = probe.life.space.is_reserve_held();
    if timeout(NOTICE_MAX, probe.becomes_low(room_bytes)).await.is_ok() {
        clients.rare_events.add("low on space", 1);
        probe.look_for(lasts, had_reserve).await;
    } else {
        clients.history.violation("P7: the node does not notice that room on its disk is low");
    }
    clients.lives.disks.give_room();
    match timeout(RECOVERY_MAX, probe.is_taken()).await {
        Ok(()) => clients.rare_events.add("came back from low on space", 1),
        Err(_) => clients
            .history
            .violation("P7: the node takes no records although there is room on its disk again"),
    }
}

/// Probes of a partition that exists, in the present life.
async fn probe(clients: &Clients) -> Option<Probe<'_>> {
    let life = clients.lives.current()?;
    let mut gateway = clients.gateway();
    let (topic, _) = LASTING_TOPICS[0];
    let metadata = gateway.call(&requests::metadata(topic), 12).await.ok()?;
    let topic = &metadata.topics[0];
    let place = (topic.topic_id, 0);
    topic.error_code.is_ok().then_some(Probe { clients, gateway, life, place })
}

impl Probe<'_> {
    /// Leaves so much room, whatever is deleted, until the node has noticed.
    async fn becomes_low(&self, room_bytes: u64) {
        while !self.is_low() {
            self.clients.lives.disks.leave_room(room_bytes).await;
            sleep(Duration::from_millis(10)).await;
        }
    }

    fn is_low(&self) -> bool {
        self.life.node.broker().is_space_low()
    }

    async fn look_for(&mut self, lasts: Duration, had_reserve: bool) {
        let over = Instant::now() + lasts;
        let mut metadata_goes_on = false;
        while Instant::now() < over {
            self.is_refused().await;
            self.is_read().await;
            metadata_goes_on |= timeout(ANSWER_MAX, self.metadata_answers()).await.is_ok();
            sleep(Duration::from_millis(self.clients.chance.between(50, 300))).await;
        }
        if had_reserve && !self.life.space.is_reserve_held() {
            self.clients.rare_events.add("reserve given up", 1);
        }
        if had_reserve && !metadata_goes_on {
            let stuck = "P7: the metadata does not go on although it has a reserve";
            self.clients.history.violation(stuck);
        }
    }

    /// Proposes until the metadata commits something.
    async fn metadata_answers(&self) {
        while self.life.node.broker().metadata.propose(Tick {}).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Offers a record, and expects to be asked to come again.
    async fn is_refused(&mut self) {
        let was_low = self.is_low();
        let Some(code) = self.produce().await else { return };
        match code {
            code if !was_low || !self.is_low() => {
                tracing::debug!(?code, "room came back meanwhile");
            }
            code if code.is_error() && code.is_retriable() => {
                self.clients.rare_events.add("records refused while low on space", 1);
            }
            code => self.clients.history.violation(format!(
                "P7: a producer was told {code:?} while room on the disk was low"
            )),
        }
    }

    /// Offers records until they are taken.
    async fn is_taken(&mut self) {
        loop {
            if let Some(ErrorCode::NONE) = self.produce().await {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn produce(&mut self) -> Option<ErrorCode> {
        let (topic, number) = (self.place.0, self.clients.chance.seed());
        let value = Value { topic, producer: PROBER, number, idempotent: false };
        let records = requests::batch(&[value], None, Codec::None);
        let response = self.gateway.call(&requests::produce(self.place, records), 13).await.ok()?;
        let answer = &response.responses[0].partition_responses[0];
        self.clients.history.operation("probe", answer.error_code.0 as u64);
        if answer.error_code.is_ok() {
            self.clients.history.acknowledged(self.place, answer.base_offset, &[value]);
        }
        Some(answer.error_code)
    }

    /// Reads from the start of the log: what is there must come.
    async fn is_read(&mut self) {
        let read = timeout(ANSWER_MAX, self.read_start()).await;
        if read.is_err() {
            let place = self.place;
            self.clients
                .history
                .violation(format!("P7: {place:?} cannot be read while room on the disk is low"));
        }
    }

    async fn read_start(&mut self) {
        let mut offset = 0;
        loop {
            let fetch = requests::fetch(self.place, offset, 0);
            if let Ok(mut response) = self.gateway.call(&fetch, 13).await {
                let data = response.responses.remove(0).partitions.remove(0);
                offset = data.log_start_offset.max(offset);
                let is_empty = data.records.is_none_or(|records| records.to_bytes().is_empty());
                match data.error_code {
                    ErrorCode::NONE if !is_empty => {
                        self.clients.rare_events.add("log read while low on space", 1);
                        return;
                    }
                    ErrorCode::NONE if offset >= data.high_watermark => return,
                    _ => {}
                }
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}
