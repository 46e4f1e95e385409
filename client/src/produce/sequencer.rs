//! The order of one partition's batches (pure): sequences, what may be sent, what an answer means.
//!
//! - At most a few batches are *flights*: sent at least once and not settled. They are kept in the
//!   order of their sequences, which never changes.
//! - While a flight waits to be sent again, nothing but the first flight is sent: order is won back
//!   before speed.
//! - A sequence is given once. It is given again (to the same batch under a new identity) only when
//!   it is certain that nothing from it on was stored. The broker stores sequences without gaps, so
//!   that is certain of all flights once it is certain of the first.
//! - What may have been stored and is given up leaves the question open whether the next sequences
//!   have a gap before them; only an answer to the next flight, or a new identity once nothing is
//!   on its way, closes it.
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
    /// Whether an attempt may have been stored.
    may_be_stored: bool,
    last_error: Option<Error>,
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
    /// A batch before the first flight was given up though it may have been stored.
    has_open_question: bool,
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
        self.flights.len() < flights_max
            && self.reset == Reset::No
            && !self.has_open_question
            && self.flights.iter().all(|flight| flight.is_on_wire)
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
            may_be_stored: false,
            last_error: None,
        });
        self.facts(base_sequence)
    }

    /// The flight that may be sent again now.
    pub(crate) fn waiting(&self) -> Option<&Flight> {
        let first = self.flights.front()?;
        let may_go = self.reset == Reset::No || first.may_be_stored;
        (!first.is_on_wire && may_go).then_some(first)
    }

    /// Sends the waiting flight again; what it is to carry.
    pub(crate) fn send_waiting(&mut self) -> Option<ProducerFacts> {
        let first = self.flights.front_mut()?;
        first.is_on_wire = true;
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
                flight.may_be_stored |= error.kind() == ErrorKind::Ambiguous;
                flight.last_error = Some(error);
                Verdict::Again
            }
            code => {
                self.flights.remove(place);
                let fenced = [ErrorCode::INVALID_PRODUCER_EPOCH, ErrorCode::PRODUCER_FENCED];
                let is_fenced = code.is_some_and(|code| fenced.contains(&code));
                self.begin_anew(if is_fenced { Reset::NewId } else { Reset::NextEpoch });
                Verdict::Failed(error)
            }
        }
    }

    fn done(&mut self, place: usize) -> Verdict {
        self.flights.remove(place);
        // Sequences are stored without gaps, so what was given up before this one is stored too.
        self.has_open_question = false;
        Verdict::Done
    }

    /// Behind other flights, the gap is theirs and closes when they are stored. The first flight
    /// has no one to wait for: the broker does not know what we were told is stored, or a batch
    /// before it was given up. Nothing from it on is stored.
    fn out_of_order(&mut self, place: usize, error: Error) -> Verdict {
        let flight = &mut self.flights[place];
        flight.last_error = Some(error);
        if place == 0 {
            flight.may_be_stored = false;
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
        let flight = self.flights.pop_front()?;
        if flight.may_be_stored {
            // Whatever followed it may be stored, too.
            self.has_open_question = true;
            for follower in &mut self.flights {
                follower.may_be_stored = true;
            }
            if self.flights.is_empty() {
                self.begin_anew(Reset::NextEpoch);
            }
        } else {
            self.begin_anew(Reset::NextEpoch);
        }
        let kind = if flight.may_be_stored { ErrorKind::Ambiguous } else { ErrorKind::Retry };
        let last = flight.last_error.map_or(String::new(), |error| format!(": {error}"));
        Some((flight.batch, Error::new(kind, format!("not delivered in time{last}"))))
    }

    fn begin_anew(&mut self, reset: Reset) {
        if self.identity.is_some() && self.reset != Reset::NewId {
            self.reset = reset;
        }
    }

    /// How sequences must begin anew, once nothing is on its way or may be stored.
    pub(crate) fn ready_reset(&self) -> Reset {
        let waits = self.flights.iter().any(|flight| flight.is_on_wire)
            || self.flights.front().is_some_and(|first| first.may_be_stored);
        if waits { Reset::No } else { self.reset }
    }

    /// Begins anew under `identity`: flights are numbered from 0 in their order.
    pub(crate) fn rebase(&mut self, identity: Identity) {
        self.identity = Some(identity);
        self.next = BaseSequence(0);
        self.reset = Reset::No;
        self.has_open_question = false;
        for flight in &mut self.flights {
            flight.base_sequence = self.next;
            flight.may_be_stored = false;
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
