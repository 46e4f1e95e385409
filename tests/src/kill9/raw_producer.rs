//! A producer that speaks the protocol itself: pipelined, several batches of a partition under way.
//!
//! An idempotent one gives nothing up: after an error or a lost connection it sends all that is not
//! acknowledged again, in order. A plain one never sends anything twice and forgets what it is not
//! sure of.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use tidemill_base::ids::{ProducerEpoch, ProducerId};
use tidemill_base::{BaseSequence, ProducerFacts};
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::init_producer_id::InitProducerIdRequest;
use tidemill_kafka::messages::produce::{ProduceRequest, ProduceResponse};
use tidemill_records::{BatchBuilder, Codec, Compressor};

use super::ledger::{Ledger, Place};
use super::rest::Rest;
use super::stamp::Stamp;
use crate::calls::{self, PRODUCE_VERSION};
use crate::chance::Chance;
use crate::wire::Wire;

const INIT_PRODUCER_ID_VERSION: i16 = 4;
/// Requests under way at once: what idempotence allows.
const IN_FLIGHT_MAX: usize = 5;
/// Batches that are sent in one go.
const BURST_BATCHES: usize = 8;
const BATCH_RECORDS_MAX: u64 = 24;
const RECONNECT_PAUSE: Duration = Duration::from_millis(10);
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// How a producer of the load is set up.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    /// Its id in stamps.
    pub(crate) producer: u32,
    /// Its place among the producers.
    pub(crate) place: u32,
    pub(crate) kafka: SocketAddr,
    pub(crate) seed: u64,
    /// Bytes of values a second.
    pub(crate) rate_bytes: u64,
}

/// The producer.
pub(crate) struct RawProducer {
    post: Post,
    ledger: Arc<Ledger>,
    rest: Arc<Rest>,
    idempotent: bool,
    identity: Option<(i64, i16)>,
    /// The next number, by partition.
    next: Vec<u64>,
    /// Not yet acknowledged, in the order of sending; the first `in_flight` are under way.
    unacked: VecDeque<Batch>,
    in_flight: usize,
    /// Something under way has failed: all is sent again once the answers are in.
    failed: bool,
    chance: Chance,
    compressor: Compressor,
    next_burst: Instant,
    burst_left: usize,
}

#[derive(Debug)]
struct Batch {
    partition: Place,
    first: Stamp,
    count: u64,
    bytes: Bytes,
}

impl RawProducer {
    pub(crate) fn new(post: Post, ledger: Arc<Ledger>, rest: Arc<Rest>, idempotent: bool) -> Self {
        let partitions = ledger.partitions().len();
        let chance = Chance::of(post.seed, u64::from(post.producer));
        Self {
            post,
            ledger,
            rest,
            idempotent,
            identity: None,
            next: vec![0; partitions],
            unacked: VecDeque::new(),
            in_flight: 0,
            failed: false,
            chance,
            compressor: Compressor::default(),
            next_burst: Instant::now(),
            burst_left: 0,
        }
    }

    /// Produces until the load ends.
    pub(crate) fn run(mut self) {
        while !self.rest.is_ended() {
            if self.unacked.is_empty() {
                self.rest.rests(self.post.place);
            }
            // A lost connection is what this is about; anything else is told by `answered`.
            let _ = Wire::connect(self.post.kafka).and_then(|wire| self.serve(wire));
            self.in_flight = 0;
            self.failed = false;
            if !self.idempotent {
                self.unacked.clear();
            }
            thread::sleep(RECONNECT_PAUSE);
        }
    }

    fn serve(&mut self, mut wire: Wire) -> Result<()> {
        if self.idempotent && self.identity.is_none() {
            self.identity = Some(self.identify(&mut wire)?);
        }
        while !self.rest.is_ended() {
            let room = !self.failed && self.in_flight < IN_FLIGHT_MAX;
            if room && (self.in_flight < self.unacked.len() || self.make_batch()?) {
                let batch = &self.unacked[self.in_flight];
                let request = request(&self.ledger, batch);
                self.in_flight += 1;
                wire.send(&request, PRODUCE_VERSION)?;
            } else if self.in_flight > 0 {
                let (_, response) = wire.receive(PRODUCE_VERSION)?;
                self.answered(&response)?;
            } else if self.failed {
                self.failed = false;
                thread::sleep(RETRY_PAUSE);
            } else {
                self.rest.rests(self.post.place);
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    fn identify(&self, wire: &mut Wire) -> Result<(i64, i16)> {
        let request =
            InitProducerIdRequest { transaction_timeout_ms: 60_000, ..Default::default() };
        let response = wire.call(&request, INIT_PRODUCER_ID_VERSION)?;
        if response.error_code.is_error() {
            bail!("no producer id: {}", response.error_code);
        }
        Ok((response.producer_id, response.producer_epoch))
    }

    /// Makes a batch if one is due.
    fn make_batch(&mut self) -> Result<bool> {
        if self.rest.is_wanted() {
            return Ok(false);
        }
        if self.burst_left == 0 {
            if Instant::now() < self.next_burst {
                return Ok(false);
            }
            self.burst_left = BURST_BATCHES;
            let burst_bytes = (BURST_BATCHES as u64 * (1 + BATCH_RECORDS_MAX) / 2) << 10;
            let micros = burst_bytes * 1_000_000 / self.post.rate_bytes;
            self.next_burst = Instant::now() + Duration::from_micros(micros);
        }
        self.burst_left -= 1;
        let partition = self.chance.below(self.next.len());
        let count = self.chance.between(1, BATCH_RECORDS_MAX);
        let first = Stamp { producer: self.post.producer, number: self.next[partition] };
        let codec = match self.chance.below(8) {
            0 => Codec::Gzip,
            1 => Codec::Snappy,
            2 => Codec::Lz4,
            3 => Codec::Zstd,
            _ => Codec::None,
        };
        let mut builder = BatchBuilder::new(codec);
        if let Some((id, epoch)) = self.identity {
            builder = builder.producer(ProducerFacts {
                id: ProducerId(id),
                epoch: ProducerEpoch(epoch),
                base_sequence: BaseSequence(first.number as i32),
                transaction: 0,
            });
        }
        for at in 0..count {
            let stamp = Stamp { number: first.number + at, ..first };
            builder.append_value(calls::now(), None, Some(&stamp.value()))?;
        }
        let bytes = builder.finish(&mut self.compressor).context("build a batch")?;
        self.next[partition] += count;
        if self.idempotent {
            self.ledger.sent(partition, self.post.producer, self.next[partition]);
        }
        self.unacked.push_back(Batch { partition, first, count, bytes });
        Ok(true)
    }

    /// Takes the answer to the oldest request under way.
    fn answered(&mut self, response: &ProduceResponse) -> Result<()> {
        let topic = response.responses.first().context("an answer without a topic")?;
        let answer = topic.partition_responses.first().context("an answer without a partition")?;
        self.in_flight -= 1;
        if self.failed {
            // The failed batch stands at the front, this one behind it. Both are sent again, whatever
            // became of this one: if it is stored, it is answered as a duplicate then.
            return Ok(());
        }
        let batch = self.unacked.pop_front().context("an answer to nothing")?;
        match answer.error_code {
            ErrorCode::NONE => {
                self.ledger.acked(batch.partition, answer.base_offset, batch.first, batch.count);
            }
            ErrorCode::DUPLICATE_SEQUENCE_NUMBER if self.idempotent => {}
            code if self.idempotent => {
                if !code.is_retriable() {
                    let producer = self.post.producer;
                    self.ledger.other(format_args!("producer {producer} was told {code}"));
                }
                self.unacked.push_front(batch);
                self.failed = true;
            }
            _ => {}
        }
        Ok(())
    }
}

fn request(ledger: &Ledger, batch: &Batch) -> ProduceRequest {
    let partition = &ledger.partitions()[batch.partition];
    calls::produce_request(&partition.topic, partition.partition.0, Some(batch.bytes.clone()))
}
