//! The state machine of a lane.
//!
//! Order of calls: [`Lane::admit`] for each submission; [`Lane::advance`] after every input and at
//! [`Lane::next_deadline`]; then [`Lane::poll_action`] until it is empty, carrying each action out. A
//! [`Action::Seal`] is followed by [`Lane::handle_sealed`], a [`Action::Put`] by [`Lane::handle_put`],
//! a [`Action::Propose`] by [`Lane::handle_commit`].

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tidemill_base::{BatchFacts, BatchOutcome, LaneSequence, Location};

use crate::answer::{BatchAnswer, CommitAnswer, FlushFailure};
use crate::failed::FailedSequences;
use crate::flight::{Flight, PUTS_LIVE_MAX, Stage};
use crate::limits::LaneLimits;

#[cfg(test)]
mod tests;

/// What the shell has to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Build object `sequence` from the `submissions` oldest ones that wait.
    Seal {
        /// The object's place in the lane.
        sequence: LaneSequence,
        /// How many submissions it takes.
        submissions: usize,
    },
    /// Let the next put go to a new file.
    AbandonFile,
    /// Put the object into the store.
    Put {
        /// The object.
        sequence: LaneSequence,
        /// Which try this is, from 1.
        attempt: u32,
    },
    /// Propose the object to the metadata. Proposals leave in the order of these actions.
    Propose {
        /// The object.
        sequence: LaneSequence,
        /// Where it lies.
        location: Location,
        /// The sequences right before it that were given up.
        skips: Vec<LaneSequence>,
        /// Every outcome up to this one has been received.
        outcomes_received_up_to: LaneSequence,
    },
    /// Answer the clients; one answer per batch, in the object's order. The object is done.
    Answer {
        /// The object.
        sequence: LaneSequence,
        /// What became of each batch.
        answers: Vec<BatchAnswer>,
    },
    /// The registration is void: the broker must register again and open new lanes.
    Stop,
}

/// Why a submission is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LaneClosed {
    /// The queue is full; the client may try again.
    #[error("the lane's queue is full")]
    Full,
    /// The lane is fenced or closing.
    #[error("the lane is closed")]
    Closed,
}

/// A lane. See the module for the order of calls.
#[derive(Debug)]
pub struct Lane {
    limits: LaneLimits,
    queue: VecDeque<Waiting>,
    queue_bytes: u64,
    flights: BTreeMap<LaneSequence, Flight>,
    /// The last sequence given to an object.
    sealed_up_to: LaneSequence,
    /// Given-up sequences that no proposal has named yet, all above what was proposed.
    skips: Vec<LaneSequence>,
    answered_up_to: LaneSequence,
    failed: FailedSequences,
    /// Nothing is sealed before: the store was full a moment ago.
    resume_at: Duration,
    actions: VecDeque<Action>,
    sealing: bool,
    closing: bool,
    stopped: bool,
}

#[derive(Debug)]
struct Waiting {
    since: Duration,
    bytes: u64,
    batches: u32,
}

impl Lane {
    /// A lane whose first object will have sequence 1.
    #[must_use]
    pub fn new(limits: LaneLimits) -> Self {
        Self {
            limits,
            queue: VecDeque::new(),
            queue_bytes: 0,
            flights: BTreeMap::new(),
            sealed_up_to: LaneSequence(0),
            skips: Vec::new(),
            answered_up_to: LaneSequence(0),
            failed: FailedSequences::default(),
            resume_at: Duration::ZERO,
            actions: VecDeque::new(),
            sealing: false,
            closing: false,
            stopped: false,
        }
    }

    /// Takes a submission into the queue.
    ///
    /// # Errors
    /// [`LaneClosed`] says that it was not taken, and whether trying again may help.
    pub fn admit(&mut self, now: Duration, bytes: u64, batches: u32) -> Result<(), LaneClosed> {
        if self.stopped || self.closing {
            return Err(LaneClosed::Closed);
        }
        if !self.queue.is_empty() && self.queue_bytes + bytes > self.limits.queue_bytes_max {
            return Err(LaneClosed::Full);
        }
        self.queue_bytes += bytes;
        self.queue.push_back(Waiting { since: now, bytes, batches });
        Ok(())
    }

    /// A submission was not taken: what its producers sent after it will be out of order for a reason
    /// that is not theirs.
    pub fn note_refused(&mut self, batches: &[BatchFacts], failure: FlushFailure) {
        self.failed.remember(batches, failure);
    }

    /// Takes no more submissions; what was admitted is still flushed.
    pub fn close(&mut self) {
        self.closing = true;
    }

    /// Whether nothing waits and nothing is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.flights.is_empty() && self.actions.is_empty()
    }

    /// How many submissions wait to be sealed.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The object of the last [`Action::Seal`] has been built.
    pub fn handle_sealed(
        &mut self,
        now: Duration,
        sequence: LaneSequence,
        batches: Vec<BatchFacts>,
    ) {
        self.sealing = false;
        self.flights.insert(sequence, Flight::new(now, batches));
    }

    /// A put ended. `Err` says whether the store is full.
    pub fn handle_put(
        &mut self,
        now: Duration,
        sequence: LaneSequence,
        attempt: u32,
        result: Result<Location, FlushFailure>,
    ) {
        let Some(flight) = self.flights.get_mut(&sequence) else { return };
        let Stage::Writing { live, retry_at, race_after } = &mut flight.stage else { return };
        live.retain(|(number, _)| *number != attempt);
        match result {
            Ok(location) => flight.stage = Stage::Durable { location, not_before: now },
            Err(FlushFailure::StoreFull) if live.is_empty() => {
                self.give_up(sequence, FlushFailure::StoreFull);
                self.resume_at = now + LaneLimits::full_wait(self.skips.len());
            }
            Err(_) if live.is_empty() => {
                *retry_at = Some(now + self.limits.backoff(flight.puts.saturating_sub(1)));
            }
            Err(_) => *race_after = now + self.limits.backoff(flight.puts.saturating_sub(1)),
        }
    }

    /// The metadata answered a proposal.
    pub fn handle_commit(&mut self, now: Duration, sequence: LaneSequence, answer: CommitAnswer) {
        let Some(flight) = self.flights.get_mut(&sequence) else { return };
        let Stage::Proposed { location } = flight.stage else { return };
        match answer {
            CommitAnswer::Outcomes(outcomes) if outcomes.len() == flight.batches.len() => {
                self.settle(sequence, &outcomes);
            }
            CommitAnswer::Outcomes(_) => self.finish(sequence, |_| BatchAnswer::Ambiguous),
            CommitAnswer::BelowFloor | CommitAnswer::Fenced => self.handle_fenced(sequence),
            CommitAnswer::Gap { expected } if expected > sequence => {
                self.finish(sequence, |_| BatchAnswer::Ambiguous);
            }
            CommitAnswer::Gap { .. } | CommitAnswer::NotNow | CommitAnswer::Ambiguous => {
                flight.may_be_committed |= answer == CommitAnswer::Ambiguous;
                let not_before = now + self.limits.backoff(flight.commit_tries);
                flight.commit_tries += 1;
                flight.stage = Stage::Durable { location, not_before };
            }
        }
    }

    /// Decides what follows from all inputs so far and from the time.
    pub fn advance(&mut self, now: Duration) {
        if self.stopped {
            self.queue.clear();
            self.queue_bytes = 0;
            self.fail_unproposed(FlushFailure::Fenced);
            return;
        }
        self.give_up_late(now);
        self.start_puts(now);
        self.propose(now);
        self.seal(now);
    }

    /// When [`Lane::advance`] must be called again even without another input. Always later than
    /// `now`, the time of the last advance: what was due by then has been dealt with or is blocked.
    #[must_use]
    pub fn next_deadline(&self, now: Duration) -> Option<Duration> {
        let flights = self.flights.values().filter_map(|flight| self.flight_deadline(flight));
        flights.chain(self.seal_deadline()).filter(|deadline| *deadline > now).min()
    }

    fn flight_deadline(&self, flight: &Flight) -> Option<Duration> {
        let given_up = flight.sealed_at + self.limits.flush_timeout;
        match &flight.stage {
            Stage::Writing { retry_at: Some(at), .. } => Some(given_up.min(*at)),
            Stage::Writing { live, race_after, .. } if live.len() < PUTS_LIVE_MAX => {
                let slow = live.iter().map(|(_, started)| *started + self.limits.slow_put).max();
                Some(slow.map_or(given_up, |slow| slow.max(*race_after).min(given_up)))
            }
            Stage::Writing { .. } => Some(given_up),
            Stage::Durable { not_before, .. } => Some(given_up.min(*not_before)),
            Stage::Proposed { .. } => None,
        }
    }

    fn seal_deadline(&self) -> Option<Duration> {
        if self.sealing || !self.may_start_flush() {
            return None;
        }
        let oldest = self.queue.front()?;
        Some((oldest.since + self.limits.linger).max(self.resume_at))
    }

    fn may_start_flush(&self) -> bool {
        let writing = self.flights.values().filter(|flight| flight.is_writing()).count();
        writing < self.limits.flushes_in_flight_max
            && self.flights.len() < self.limits.commits_in_flight_max
    }

    fn give_up_late(&mut self, now: Duration) {
        let late: Vec<LaneSequence> = self
            .flights
            .iter()
            .filter(|(_, flight)| flight.may_be_given_up())
            .filter(|(_, flight)| now >= flight.sealed_at + self.limits.flush_timeout)
            .map(|(sequence, _)| *sequence)
            .collect();
        for sequence in late {
            self.give_up(sequence, FlushFailure::StoreFailed);
        }
    }

    fn start_puts(&mut self, now: Duration) {
        for (sequence, flight) in &mut self.flights {
            let Stage::Writing { live, retry_at, race_after } = &mut flight.stage else { continue };
            let due = retry_at.is_some_and(|at| now >= at);
            let slow = live.len() < PUTS_LIVE_MAX
                && !live.is_empty()
                && now >= *race_after
                && live.iter().all(|(_, started)| now >= *started + self.limits.slow_put);
            if !due && !slow {
                continue;
            }
            if slow {
                self.actions.push_back(Action::AbandonFile);
            }
            *retry_at = None;
            flight.puts += 1;
            live.push((flight.puts, now));
            self.actions.push_back(Action::Put { sequence: *sequence, attempt: flight.puts });
        }
    }

    /// Proposes in sequence order: a flight goes only when none before it is still unproposed.
    fn propose(&mut self, now: Duration) {
        let mut proposed = self.flights.values().filter(|flight| flight.is_proposed()).count();
        for (sequence, flight) in &mut self.flights {
            let (location, not_before) = match flight.stage {
                Stage::Proposed { .. } => continue,
                Stage::Durable { location, not_before } => (location, not_before),
                Stage::Writing { .. } => break,
            };
            if now < not_before || proposed >= self.limits.commits_in_flight_max {
                break;
            }
            let before = self.skips.partition_point(|skip| skip < sequence);
            flight.skips.extend(self.skips.drain(..before));
            flight.stage = Stage::Proposed { location };
            proposed += 1;
            self.actions.push_back(Action::Propose {
                sequence: *sequence,
                location,
                skips: flight.skips.clone(),
                outcomes_received_up_to: self.answered_up_to,
            });
        }
    }

    fn seal(&mut self, now: Duration) {
        let waits_for_room = now < self.resume_at && !self.closing;
        if self.sealing || waits_for_room || !self.may_start_flush() {
            return;
        }
        let (mut bytes, mut batches, mut submissions) = (0, 0, 0);
        for waiting in &self.queue {
            let full = bytes + waiting.bytes > self.limits.object_bytes_max
                || batches + waiting.batches > self.limits.object_batches_max;
            if submissions > 0 && full {
                break;
            }
            bytes += waiting.bytes;
            batches += waiting.batches;
            submissions += 1;
        }
        let Some(oldest) = self.queue.front() else { return };
        let full = submissions < self.queue.len() || bytes >= self.limits.object_bytes_max;
        if !full && !self.closing && now < oldest.since + self.limits.linger {
            return;
        }
        self.queue.drain(..submissions);
        self.queue_bytes -= bytes;
        self.sealed_up_to = self.sealed_up_to.next();
        self.sealing = true;
        self.actions.push_back(Action::Seal { sequence: self.sealed_up_to, submissions });
    }

    fn give_up(&mut self, sequence: LaneSequence, failure: FlushFailure) {
        let Some(flight) = self.flights.remove(&sequence) else { return };
        self.failed.remember(&flight.batches, failure);
        self.skips.extend(flight.skips);
        self.skips.push(sequence);
        self.skips.sort_unstable();
        self.answer(
            sequence,
            flight.batches.iter().map(|_| BatchAnswer::Failed(failure)).collect(),
        );
    }

    fn settle(&mut self, sequence: LaneSequence, outcomes: &[BatchOutcome]) {
        let Some(flight) = self.flights.remove(&sequence) else { return };
        let answers = flight
            .batches
            .iter()
            .zip(outcomes)
            .map(|(batch, outcome)| self.failed.translate(batch, *outcome))
            .collect();
        self.answer(sequence, answers);
    }

    fn handle_fenced(&mut self, sequence: LaneSequence) {
        let may_be = self.flights.get(&sequence).is_some_and(|flight| flight.may_be_committed);
        self.finish(sequence, |_| match may_be {
            true => BatchAnswer::Ambiguous,
            false => BatchAnswer::Failed(FlushFailure::Fenced),
        });
        if !self.stopped {
            self.stopped = true;
            self.actions.push_back(Action::Stop);
        }
        self.fail_unproposed(FlushFailure::Fenced);
    }

    /// Fails all that was never proposed; what was is left to its own answer.
    fn fail_unproposed(&mut self, failure: FlushFailure) {
        let unproposed: Vec<LaneSequence> = self
            .flights
            .iter()
            .filter(|(_, flight)| !flight.is_proposed())
            .map(|(sequence, _)| *sequence)
            .collect();
        for sequence in unproposed {
            let may_be = self.flights[&sequence].may_be_committed;
            self.finish(sequence, |_| match may_be {
                true => BatchAnswer::Ambiguous,
                false => BatchAnswer::Failed(failure),
            });
        }
    }

    fn finish(&mut self, sequence: LaneSequence, answer: impl Fn(&BatchFacts) -> BatchAnswer) {
        let Some(flight) = self.flights.remove(&sequence) else { return };
        self.answer(sequence, flight.batches.iter().map(answer).collect());
    }

    fn answer(&mut self, sequence: LaneSequence, answers: Vec<BatchAnswer>) {
        self.actions.push_back(Action::Answer { sequence, answers });
        let first_open = self.flights.keys().next().copied();
        self.answered_up_to = match first_open {
            Some(open) => LaneSequence(open.0 - 1),
            None if self.sealing => LaneSequence(self.sealed_up_to.0 - 1),
            None => self.sealed_up_to,
        };
    }
}
