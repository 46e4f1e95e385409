//! The engine against a model of a broker and a network, in many random runs.
//!
//! The network is unkind: a connection may break with requests on their way, and the broker may get
//! to those later, after newer ones on another connection. What must hold whatever happens:
//! - no batch is stored twice;
//! - batches that were told as delivered are stored, in the order in which they were appended;
//! - a batch that failed is stored only if it was told as `Ambiguous`;
//! - every batch is told something in the end.

use std::collections::VecDeque;

use tidemill_base::{ProducerEpoch, ProducerId, TimestampMs};
use tidemill_kafka::ErrorCode;

use super::*;

const RUNS: u64 = 5_000;
const STEPS: usize = 120;
/// How many batches of a producer the broker remembers.
const REMEMBERED_MAX: usize = 5;

/// A request on its way: one batch.
#[derive(Clone, Copy)]
struct Sent {
    connection: u64,
    batch: BatchId,
    facts: ProducerFacts,
}

/// As unkind as Kafka's: it takes any sequence from a producer that it does not know.
#[derive(Default)]
struct Broker {
    is_known: bool,
    epoch: i16,
    remembered: VecDeque<(i32, BatchId)>,
    next: i32,
    stored: Vec<BatchId>,
}

impl Broker {
    fn append(&mut self, sent: &Sent) -> Result<(), ErrorCode> {
        let facts = sent.facts;
        if !self.is_known {
            (self.is_known, self.epoch, self.next) = (true, facts.epoch.0, facts.base_sequence.0);
        }
        if facts.epoch.0 < self.epoch {
            return Err(ErrorCode::INVALID_PRODUCER_EPOCH);
        }
        if facts.epoch.0 > self.epoch {
            if facts.base_sequence.0 != 0 {
                return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
            }
            (self.epoch, self.next) = (facts.epoch.0, 0);
            self.remembered.clear();
        }
        if self.remembered.iter().any(|known| known.0 == facts.base_sequence.0) {
            return Ok(());
        }
        if facts.base_sequence.0 != self.next {
            return Err(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER);
        }
        self.next += 1;
        self.remembered.push_back((facts.base_sequence.0, sent.batch));
        if self.remembered.len() > REMEMBERED_MAX {
            self.remembered.pop_front();
        }
        self.stored.push(sent.batch);
        Ok(())
    }
}

struct OneBroker {
    has_place: bool,
}

impl View for OneBroker {
    fn leader(&self, _: &TopicPartition) -> Option<BrokerId> {
        Some(BrokerId(1))
    }

    fn broker(&self, _: BrokerId) -> BrokerState {
        if self.has_place { BrokerState::Ready } else { BrokerState::Busy }
    }
}

struct Run {
    engine: Engine,
    broker: Broker,
    prng: Prng,
    now_ms: u64,
    connection: u64,
    /// Requests that the broker has not got to, on this connection and on broken ones.
    unread: Vec<Sent>,
    /// Answers on their way to the client.
    answers: VecDeque<(Sent, Result<(), ErrorCode>)>,
    told: BTreeMap<BatchId, Result<(), Error>>,
    appended: u64,
}

impl Run {
    fn new(seed: u64) -> Self {
        let config = EngineConfig {
            codec: Codec::None,
            batch_bytes_max: 1,
            request_bytes_max: 1,
            linger_ms: 0,
            delivery_timeout_ms: 100,
            partition_in_flight_max: 5,
            idempotent: true,
            backoff: Backoff { initial_ms: 1, max_ms: 5 },
        };
        let mut engine = Engine::new(config, seed);
        let identity = Identity { id: ProducerId(1), epoch: ProducerEpoch(0) };
        engine.identified(0, Ok(identity));
        Self {
            engine,
            broker: Broker::default(),
            prng: Prng::new(seed),
            now_ms: 0,
            connection: 0,
            unread: Vec::new(),
            answers: VecDeque::new(),
            told: BTreeMap::new(),
            appended: 0,
        }
    }

    fn step(&mut self) {
        match self.prng.below(20) {
            0..=3 => self.append(),
            4..=8 => self.poll(),
            9..=13 => self.process(),
            14..=17 => self.answer(),
            18 => self.break_connection(),
            _ => self.now_ms += self.prng.below(60),
        }
        self.now_ms += self.prng.below(3);
    }

    fn append(&mut self) {
        let timestamp = TimestampMs(0);
        let record = NewRecord { timestamp, key: None, value: Some(b"v"), headers: &[] };
        let partition = TopicPartition::new("t", 0);
        let appended = self.engine.append(self.now_ms, &partition, &record).unwrap();
        assert_eq!(appended.batch, BatchId(self.appended));
        self.appended += 1;
    }

    fn in_flight(&self) -> usize {
        let of_this = |sent: &&Sent| sent.connection == self.connection;
        self.unread.iter().filter(of_this).count() + self.answers.len()
    }

    fn poll(&mut self) {
        let world = OneBroker { has_place: self.in_flight() < 5 };
        for action in self.engine.poll(self.now_ms, false, &world).actions {
            match action {
                Action::Send(_, parts) => {
                    for part in parts {
                        let facts = part.facts.unwrap();
                        let connection = self.connection;
                        self.unread.push(Sent { connection, batch: part.batch, facts });
                    }
                }
                Action::Fail(batch, error) => self.tell(batch, Err(error)),
                Action::ObtainIdentity => panic!("epochs do not run out here"),
                Action::RefreshMetadata(_) | Action::Connect(_) => {}
            }
        }
    }

    /// The broker gets to a request: the next of any connection.
    fn process(&mut self) {
        if self.unread.is_empty() {
            return;
        }
        let chosen = self.prng.below(self.unread.len() as u64) as usize;
        let connection = self.unread[chosen].connection;
        let next = self.unread.iter().position(|sent| sent.connection == connection).unwrap();
        let sent = self.unread.remove(next);
        let refused = sent.batch.0 % 13 == 7;
        let result = match self.prng.below(8) {
            _ if refused => Err(ErrorCode::MESSAGE_TOO_LARGE),
            0 => Err(ErrorCode::NOT_LEADER_OR_FOLLOWER),
            1 => self.broker.append(&sent).and(Err(ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND)),
            _ => self.broker.append(&sent),
        };
        if connection == self.connection {
            self.answers.push_back((sent, result));
        }
    }

    fn answer(&mut self) {
        if let Some((sent, result)) = self.answers.pop_front() {
            self.settle(sent, result.map_err(|code| Error::answered("produce", code)));
        }
    }

    /// Whatever was not answered is lost; the broker may have it, or come to it.
    fn break_connection(&mut self) {
        let mut lost: Vec<Sent> = self.answers.drain(..).map(|(sent, _)| sent).collect();
        let of_this = |sent: &&Sent| sent.connection == self.connection;
        lost.extend(self.unread.iter().filter(of_this));
        if self.prng.below(2) == 0 {
            self.unread.clear();
        }
        self.connection += 1;
        for sent in lost {
            let error = Error::new(ErrorKind::Ambiguous, "the connection broke");
            self.settle(sent, Err(error));
        }
    }

    fn settle(&mut self, sent: Sent, result: Result<(), Error>) {
        let partition = TopicPartition::new("t", 0);
        if let Some(told) = self.engine.settle(self.now_ms, &partition, sent.batch, result) {
            self.tell(sent.batch, told);
        }
    }

    fn tell(&mut self, batch: BatchId, result: Result<(), Error>) {
        assert!(self.told.insert(batch, result).is_none(), "{batch:?} is told twice");
    }

    /// Lets everything come to its end.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            self.now_ms += 1;
            self.poll();
            self.process();
            self.answer();
            if self.told.len() as u64 == self.appended && self.unread.is_empty() {
                return;
            }
        }
        panic!("{} of {} batches are told", self.told.len(), self.appended);
    }

    fn check(&self) {
        let stored = &self.broker.stored;
        let once: BTreeSet<BatchId> = stored.iter().copied().collect();
        assert_eq!(once.len(), stored.len(), "stored twice: {stored:?}");
        let delivered = |batch: &&BatchId| self.told[*batch].is_ok();
        let in_order: Vec<&BatchId> = stored.iter().filter(delivered).collect();
        assert!(in_order.is_sorted(), "out of order: {in_order:?}");
        for (batch, told) in &self.told {
            match told {
                Ok(()) => assert!(once.contains(batch), "{batch:?} is not stored"),
                Err(error) if once.contains(batch) => {
                    assert_eq!(error.kind(), ErrorKind::Ambiguous, "{batch:?} is stored: {error}");
                }
                Err(_) => {}
            }
        }
    }
}

#[test]
fn whatever_the_network_does_batches_are_stored_once_in_order_and_told_the_truth() {
    let mut delivered = 0;
    for seed in 0..RUNS {
        let run = std::panic::catch_unwind(|| {
            let mut run = Run::new(seed);
            for _ in 0..STEPS {
                run.step();
            }
            run.finish();
            run.check();
            run.told.values().filter(|told| told.is_ok()).count()
        });
        delivered += run.unwrap_or_else(|_| panic!("seed {seed}"));
    }
    assert!(delivered > 10 * RUNS as usize, "too little was delivered to mean anything");
}
