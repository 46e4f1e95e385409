//! The task of a lane.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{LaneSequence, Location, ObjectId};
use tidemill_storage_lane::{Action, BatchAnswer, CommitAnswer, FlushFailure, Lane, LaneClosed};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::heads::Heads;
use super::object::FlyingObject;
use super::sealed_files::SealedFiles;
use super::{ObjectCommit, Submission, WriterCounters, WriterParts};
use crate::log_store::StoreError;

/// Something a lane waited for.
enum Ended {
    Put(LaneSequence, u32, Instant, Result<Location, StoreError>),
    Commit(LaneSequence, Instant, CommitAnswer),
}

/// A lane with its objects and everything under way.
pub(crate) struct Pipeline {
    parts: WriterParts,
    inbox: mpsc::Receiver<Submission>,
    inbox_open: bool,
    lane: Lane,
    started: Instant,
    waiting: VecDeque<Submission>,
    objects: BTreeMap<LaneSequence, FlyingObject>,
    under_way: FuturesUnordered<BoxFuture<'static, Ended>>,
    files: SealedFiles,
    heads: Heads,
    sealed_up_to: LaneSequence,
    stopped: bool,
}

impl Pipeline {
    pub(crate) fn new(parts: WriterParts, inbox: mpsc::Receiver<Submission>) -> Self {
        Self {
            lane: Lane::new(parts.limits.clone()),
            parts,
            inbox,
            inbox_open: true,
            started: Instant::now(),
            waiting: VecDeque::new(),
            objects: BTreeMap::new(),
            under_way: FuturesUnordered::new(),
            files: SealedFiles::default(),
            heads: Heads::default(),
            sealed_up_to: LaneSequence(0),
            stopped: false,
        }
    }

    /// Runs until the inbox is closed and all is answered, or the lane is fenced and all is answered.
    pub(crate) async fn run(mut self) {
        loop {
            self.take_waiting_submissions();
            self.carry_out();
            let over = !self.inbox_open || self.stopped;
            if over && self.lane.is_idle() && self.under_way.is_empty() {
                return;
            }
            self.wait().await;
        }
    }

    /// Waits for the next input.
    async fn wait(&mut self) {
        let deadline = self.lane.next_deadline(self.now()).map(|deadline| self.started + deadline);
        let timer = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(ended) = self.under_way.next() => self.handle_ended(ended),
            submission = self.inbox.recv(), if self.inbox_open => match submission {
                Some(submission) => self.admit(submission),
                None => {
                    self.inbox_open = false;
                    self.lane.close();
                }
            },
            () = timer => {}
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Takes all that has come, so that the next object holds it. Bounded by the inbox.
    fn take_waiting_submissions(&mut self) {
        while let Ok(submission) = self.inbox.try_recv() {
            self.admit(submission);
        }
    }

    fn admit(&mut self, submission: Submission) {
        let bytes = submission.batches.iter().map(|batch| batch.bytes.len() as u64).sum();
        let batches = submission.batches.len();
        match self.lane.admit(self.now(), bytes, batches as u32) {
            Ok(()) => self.waiting.push_back(submission),
            Err(refused) => {
                let failure = match refused {
                    LaneClosed::Full => FlushFailure::StoreFull,
                    LaneClosed::Closed => FlushFailure::Closed,
                };
                let facts: Vec<_> = submission.batches.iter().map(|batch| batch.facts).collect();
                self.lane.note_refused(&facts, failure);
                // The client may have gone away; then nobody waits for the answer.
                let _ = submission.done.send(vec![BatchAnswer::Failed(failure); batches]);
            }
        }
    }

    fn handle_ended(&mut self, ended: Ended) {
        let now = self.now();
        let counters = &self.parts.counters;
        match ended {
            Ended::Put(sequence, attempt, since, result) => {
                WriterCounters::add(&counters.put_micros, since.elapsed().as_micros() as u64);
                let result = result.map_err(|error| {
                    WriterCounters::add(&counters.put_failures, 1);
                    tracing::warn!(lane = %self.parts.lane, %sequence, attempt, %error, "put failed");
                    match error.full {
                        true => FlushFailure::StoreFull,
                        false => FlushFailure::StoreFailed,
                    }
                });
                self.lane.handle_put(now, sequence, attempt, result);
            }
            Ended::Commit(sequence, since, answer) => {
                WriterCounters::add(&counters.commit_micros, since.elapsed().as_micros() as u64);
                match &answer {
                    CommitAnswer::Gap { expected } if *expected > sequence => {
                        WriterCounters::add(&counters.out_of_step, 1);
                        tracing::error!(lane = %self.parts.lane, %sequence, %expected, "out of step");
                    }
                    CommitAnswer::Gap { .. } => WriterCounters::add(&counters.gaps, 1),
                    CommitAnswer::Ambiguous => WriterCounters::add(&counters.ambiguous, 1),
                    _ => {}
                }
                self.lane.handle_commit(now, sequence, answer);
            }
        }
    }

    /// Lets the lane decide and does what it says, until it has nothing more to say.
    fn carry_out(&mut self) {
        loop {
            self.lane.advance(self.now());
            let Some(first) = self.lane.poll_action() else { return };
            self.perform(first);
            while let Some(action) = self.lane.poll_action() {
                self.perform(action);
            }
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Seal { sequence, submissions } => self.seal(sequence, submissions),
            Action::AbandonFile => {
                WriterCounters::add(&self.parts.counters.failovers, 1);
                self.parts.store.abandon_file(self.parts.lane);
            }
            Action::Put { sequence, attempt } => self.put(sequence, attempt),
            Action::Propose { sequence, location, skips, outcomes_received_up_to } => {
                self.propose(sequence, location, skips, outcomes_received_up_to);
            }
            Action::Answer { sequence, answers } => self.answer(sequence, &answers),
            Action::Stop => self.stop(),
        }
    }

    fn object_id(&self, sequence: LaneSequence) -> ObjectId {
        ObjectId { incarnation: self.parts.incarnation, lane: self.parts.lane, sequence }
    }

    fn seal(&mut self, sequence: LaneSequence, submissions: usize) {
        let submissions = self.waiting.drain(..submissions).collect();
        let id = self.object_id(sequence);
        let ends = self.parts.ends.as_ref();
        let object = FlyingObject::build(id, submissions, &mut self.heads, ends);
        let counters = &self.parts.counters;
        WriterCounters::add(&counters.objects, 1);
        WriterCounters::add(&counters.object_bytes, u64::from(object.length));
        WriterCounters::add(&counters.batches, object.facts.len() as u64);
        self.sealed_up_to = sequence;
        self.lane.handle_sealed(self.now(), sequence, object.facts.clone());
        self.objects.insert(sequence, object);
    }

    fn put(&mut self, sequence: LaneSequence, attempt: u32) {
        let Some(object) = self.objects.get(&sequence) else { return };
        WriterCounters::add(&self.parts.counters.puts, 1);
        let store = self.parts.store.clone();
        let (id, parts, since) = (self.object_id(sequence), object.parts.clone(), Instant::now());
        self.under_way.push(Box::pin(async move {
            let result = store.put(id, parts).await;
            Ended::Put(sequence, attempt, since, result)
        }));
    }

    fn propose(
        &mut self,
        sequence: LaneSequence,
        location: Location,
        skips: Vec<LaneSequence>,
        outcomes_received_up_to: LaneSequence,
    ) {
        let Some(object) = self.objects.get(&sequence) else { return };
        WriterCounters::add(&self.parts.counters.skips, skips.len() as u64);
        self.files.object_at(location, self.sealed_up_to);
        self.parts.cache.insert(location, object.bodies());
        let answer = self.parts.commits.commit(ObjectCommit {
            object: self.object_id(sequence),
            location,
            skips,
            outcomes_received_up_to,
            batches: object.facts.clone(),
        });
        let since = Instant::now();
        self.under_way.push(Box::pin(async move { Ended::Commit(sequence, since, answer.await) }));
    }

    fn answer(&mut self, sequence: LaneSequence, answers: &[BatchAnswer]) {
        if let Some(object) = self.objects.remove(&sequence) {
            object.teach(&mut self.heads, answers);
            let records = object.records_committed(answers);
            WriterCounters::add(&self.parts.counters.records, records);
            object.answer(answers);
        }
        let first_open =
            self.objects.keys().next().copied().unwrap_or_else(|| self.sealed_up_to.next());
        for sealed in self.files.take_sealed(first_open) {
            self.parts.commits.file_sealed(sealed.file, sealed.length);
        }
    }

    fn stop(&mut self) {
        self.stopped = true;
        self.inbox.close();
        self.parts.commits.fenced();
        for submission in self.waiting.drain(..) {
            let failed = vec![BatchAnswer::Failed(FlushFailure::Fenced); submission.batches.len()];
            let _ = submission.done.send(failed);
        }
    }
}
