//! The order of one partition's batches (pure): sequences, what may be sent, what an answer means.
//!
//! - At most a few batches are *flights*: sent at least once and not settled. They are kept in the
//!   order of their sequences, which never changes.
//! - While a flight waits for its second answer, only the first flight is sent, and no new batch:
//!   order is won back before speed, and the broker remembers no more than the flights.
//! - A sequence is given once. A flight gets another (under a new identity) only when it is certain
//!   that it is not and never will be stored under the one it has: each of its attempts was
//!   answered, or a batch before it never will be stored, and the broker stores without gaps.
//! - A flight of which that is not certain is asked for under its own sequence until an answer
//!   settles it. An attempt whose answer was lost may be stored later, when the broker gets to it,
//!   so even "out of order" does not settle it without a known gap: it is given up as `Ambiguous`.
//! - A broker that knows nothing of a producer takes any sequence from it (Kafka does). So a first
//!   batch goes alone: were it refused for a moment and the second not, their order would be lost.
//!
//! Without idempotence the same code runs with no identity and one flight at a time.

use std::collections::VecDeque;

use tidemill_base::{BaseSequence, ErrorKind, ProducerEpoch, ProducerFacts, ProducerId};
use tidemill_kafka::ErrorCode;

use crate::error::Error;

/// A batch, within one producer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BatchId(pub(crate) u64);

/// Who the broker thinks the producer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) id: ProducerId,
    pub(crate) epoch: ProducerEpoch,
}

impl Identity {
    /// The next epoch, if there is one.
    pub(crate) fn bumped(self) -> Option<Self> {
        let epoch = ProducerEpoch(self.epoch.0.checked_add(1)?);
        Some(Self { epoch, ..self })
    }
}

/// A batch that was sent and is not settled.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub(crate) batch: BatchId,
    pub(crate) base_sequence: BaseSequence,
    pub(crate) record_count: u32,
    pub(crate) size_bytes: usize,
    /// After this it is given up, unless it is on its way.
    pub(crate) expires_at_ms: u64,
    /// Whether an answer is waited for.
    pub(crate) is_on_wire: bool,
    attempts: u32,
    /// Whether the answer to an attempt was lost.
    is_lost: bool,
    /// Whether a batch before it will never be stored under its identity.
    has_gap_before: bool,
    last_error: Option<Error>,
}

impl Flight {
    /// Whether it may be stored, or yet come to be, under the sequence that it has.
    fn may_be_stored(&self) -> bool {
        self.is_lost && !self.has_gap_before
    }
}

/// Whether and how sequences must begin anew.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Reset {
    /// They need not.
    #[default]
    No,
    /// Under the next epoch.
    NextEpoch,
    /// Under another producer id.
    NewId,
}

/// What the answer to a flight means.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Verdict {
    /// Delivered.
    Done,
    /// To be sent again.
    Again,
    /// Given up.
    Failed(Error),
}

/// The flights of one partition.
#[derive(Debug, Default)]
pub(crate) struct Sequencer {
    identity: Option<Identity>,
    next: BaseSequence,
    flights: VecDeque<Flight>,
    reset: Reset,
    /// Whether the broker has stored something under this identity.
    is_known: bool,
}

impl Sequencer {
    /// The flights, in the order of their sequences.
    pub(crate) fn flights(&self) -> &VecDeque<Flight> {
        &self.flights
    }

    /// The identity under which sequences are given; `None` before the first, and without
    /// idempotence.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// Whether a new batch may be sent now under `identity`.
    pub(crate) fn takes_new(&self, identity: Option<Identity>, flights_max: usize) -> bool {
        let goes_alone = identity.is_some() && !self.is_known;
        self.flights.len() < if goes_alone { 1 } else { flights_max }
            && self.reset == Reset::No
            && self.flights.iter().all(|flight| flight.is_on_wire && flight.attempts == 1)
            && (self.identity == identity || self.flights.is_empty())
    }

    /// Sends a new batch. What it is to carry is `None` without idempotence.
    pub(crate) fn send_new(
        &mut self,
        identity: Option<Identity>,
        batch: BatchId,
        record_count: u32,
        size_bytes: usize,
        expires_at_ms: u64,
    ) -> Option<ProducerFacts> {
        if self.identity != identity {
            self.identity = identity;
            self.next = BaseSequence(0);
            self.is_known = false;
        }
        let base_sequence = self.next;
        self.next = self.next.plus(record_count);
        self.flights.push_back(Flight {
            batch,
            base_sequence,
            record_count,
            size_bytes,
            expires_at_ms,
            is_on_wire: true,
            attempts: 1,
            is_lost: false,
            has_gap_before: false,
            last_error: None,
        });
        self.facts(base_sequence)
    }

    /// The flight that may be sent again now.
    pub(crate) fn waiting(&self) -> Option<&Flight> {
        let first = self.flights.front()?;
        let may_go = self.reset == Reset::No || first.may_be_stored();
        (!first.is_on_wire && may_go).then_some(first)
    }

    /// Sends the waiting flight again; what it is to carry.
    pub(crate) fn send_waiting(&mut self) -> Option<ProducerFacts> {
        let first = self.flights.front_mut()?;
        first.is_on_wire = true;
        first.attempts += 1;
        let base_sequence = first.base_sequence;
        self.facts(base_sequence)
    }

    fn facts(&self, base_sequence: BaseSequence) -> Option<ProducerFacts> {
        let Identity { id, epoch } = self.identity?;
        Some(ProducerFacts { id, epoch, base_sequence, transaction: 0 })
    }

    /// Judges the answer to a flight.
    pub(crate) fn settle(&mut self, batch: BatchId, result: Result<(), Error>) -> Verdict {
        let Some(place) = self.flights.iter().position(|flight| flight.batch == batch) else {
            return Verdict::Failed(Error::new(ErrorKind::Bug, "an answer to no batch"));
        };
        self.flights[place].is_on_wire = false;
        let error = match result {
            Ok(()) => return self.done(place),
            Err(error) => error,
        };
        let is_idempotent = self.identity.is_some();
        match error.code() {
            Some(ErrorCode::DUPLICATE_SEQUENCE_NUMBER) if is_idempotent => self.done(place),
            Some(ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER | ErrorCode::UNKNOWN_PRODUCER_ID)
                if is_idempotent =>
            {
                self.out_of_order(place, error)
            }
            _ if error.may_repeat(true) => {
                let flight = &mut self.flights[place];
                flight.is_lost |= error.kind() == ErrorKind::Ambiguous;
                flight.last_error = Some(error);
                Verdict::Again
            }
            _ => Verdict::Failed(self.give_up(place, error)),
        }
    }

    fn done(&mut self, place: usize) -> Verdict {
        self.flights.remove(place);
        self.is_known = true;
        Verdict::Done
    }

    /// Behind other flights, the gap is theirs and closes when they are stored. The first flight
    /// has no one to wait for.
    fn out_of_order(&mut self, place: usize, error: Error) -> Verdict {
        let flight = &mut self.flights[place];
        if place == 0 && flight.may_be_stored() {
            return Verdict::Failed(self.give_up(place, error));
        }
        flight.last_error = Some(error);
        if place == 0 {
            self.begin_anew(Reset::NextEpoch);
        }
        Verdict::Again
    }

    /// Gives up the first flight if its time is over and it is not on its way.
    pub(crate) fn expire(&mut self, now_ms: u64) -> Option<(BatchId, Error)> {
        let first = self.flights.front()?;
        if first.is_on_wire || first.expires_at_ms > now_ms {
            return None;
        }
        let batch = first.batch;
        let last = first.last_error.as_ref().map_or(String::new(), |error| format!(": {error}"));
        let error = Error::new(ErrorKind::Retry, format!("not delivered in time{last}"));
        Some((batch, self.give_up(0, error)))
    }

    /// Removes a flight; what its records are to be told.
    fn give_up(&mut self, place: usize, error: Error) -> Error {
        let fenced = [ErrorCode::INVALID_PRODUCER_EPOCH, ErrorCode::PRODUCER_FENCED];
        let is_fenced = error.code().is_some_and(|code| fenced.contains(&code));
        self.begin_anew(if is_fenced { Reset::NewId } else { Reset::NextEpoch });
        match self.flights.remove(place) {
            Some(flight) if flight.may_be_stored() => {
                error.with_kind(ErrorKind::Ambiguous, "an attempt that was lost may be stored")
            }
            _ => {
                self.flights.range_mut(place..).for_each(|behind| behind.has_gap_before = true);
                error
            }
        }
    }

    fn begin_anew(&mut self, reset: Reset) {
        if self.identity.is_some() && self.reset != Reset::NewId {
            self.reset = reset;
        }
    }

    /// How sequences must begin anew, once nothing is on its way or may be stored. (If the first
    /// flight is not stored, those behind it are not.)
    pub(crate) fn ready_reset(&self) -> Reset {
        let waits = self.flights.iter().any(|flight| flight.is_on_wire)
            || self.flights.front().is_some_and(Flight::may_be_stored);
        if waits { Reset::No } else { self.reset }
    }

    /// Begins anew under `identity`: flights are numbered from 0 in their order.
    pub(crate) fn rebase(&mut self, identity: Identity) {
        self.identity = Some(identity);
        self.next = BaseSequence(0);
        self.reset = Reset::No;
        self.is_known = false;
        for flight in &mut self.flights {
            flight.base_sequence = self.next;
            flight.is_lost = false;
            flight.has_gap_before = false;
            self.next = self.next.plus(flight.record_count);
        }
    }

    /// Gives up everything.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = BatchId> {
        std::mem::take(&mut self.flights).into_iter().map(|flight| flight.batch)
    }
}

#[cfg(test)]
mod sequencer_test;
