//! A log object under way: its parts, and the way back to the submissions it holds.

use bytes::Bytes;
use tidemill_base::{BatchFacts, BatchOutcome, ObjectId};
use tidemill_records::{BATCH_HEAD_BYTES, head16};
use tidemill_storage_format::{BatchHead, LogObjectBuilder};
use tidemill_storage_lane::BatchAnswer;
use tokio::sync::oneshot;

use super::heads::{Heads, LogEnd, LogEnds, Told};
use super::{AdmittedBatch, Kept, Submission};

/// Where the answer to one batch goes: which submission, and which of its batches.
#[derive(Clone, Copy)]
struct Route {
    submission: u32,
    batch: u32,
}

struct Waiter {
    done: oneshot::Sender<Vec<BatchAnswer>>,
    batches: usize,
    /// Dropped with the object.
    _kept: Option<Kept>,
}

/// An object that was sealed and is not decided yet.
pub(crate) struct FlyingObject {
    /// Header and batches, as the store takes them.
    pub(crate) parts: Vec<Bytes>,
    /// The batches as they were admitted.
    bodies: Vec<Bytes>,
    /// The batches in the object's order.
    pub(crate) facts: Vec<BatchFacts>,
    pub(crate) length: u32,
    routes: Vec<Route>,
    told: Vec<Told>,
    waiters: Vec<Waiter>,
}

impl FlyingObject {
    /// Groups the batches by partition, in the order in which each partition first appears, and
    /// keeps the order of arrival within a partition. Each batch gets the head that it will have if
    /// all goes as `heads` and `ends` expect.
    pub(crate) fn build(
        object: ObjectId,
        submissions: Vec<Submission>,
        heads: &mut Heads,
        ends: &dyn LogEnds,
    ) -> Self {
        let mut waiters = Vec::with_capacity(submissions.len());
        let mut batches: Vec<(Route, AdmittedBatch)> = Vec::with_capacity(submissions.len());
        for (number, submission) in submissions.into_iter().enumerate() {
            waiters.push(Waiter {
                done: submission.done,
                batches: submission.batches.len(),
                _kept: submission.kept,
            });
            for (batch, admitted) in submission.batches.into_iter().enumerate() {
                let route = Route { submission: number as u32, batch: batch as u32 };
                batches.push((route, admitted));
            }
        }
        batches.sort_by_key(|(_, admitted)| admitted.facts.partition);
        let mut builder = LogObjectBuilder::new(object);
        let mut routes = Vec::with_capacity(batches.len());
        let mut told = Vec::with_capacity(batches.len());
        for (route, admitted) in batches {
            let (promise, end) = heads.next(&admitted.facts, ends);
            match head_of(&admitted.bytes, end) {
                Some(head) => builder.push_with_head(admitted.facts, head, admitted.bytes),
                None => builder.push(admitted.facts, admitted.bytes),
            }
            routes.push(route);
            told.push(promise);
        }
        let encoded = builder.finish();
        Self {
            parts: encoded.parts,
            bodies: encoded.bodies,
            facts: encoded.facts,
            length: encoded.length,
            routes,
            told,
            waiters,
        }
    }

    /// Each batch's bytes with its position in the object, for the hot cache.
    pub(crate) fn bodies(&self) -> Vec<(u32, Bytes)> {
        let positions = self.facts.iter().map(|facts| facts.position);
        positions.zip(self.bodies.iter().cloned()).collect()
    }

    /// Lets `heads` learn what became of what it told.
    pub(crate) fn teach(&self, heads: &mut Heads, answers: &[BatchAnswer]) {
        for (told, answer) in self.told.iter().zip(answers) {
            heads.decided(*told, answer);
        }
    }

    /// How many records `answers` commit.
    pub(crate) fn records_committed(&self, answers: &[BatchAnswer]) -> u64 {
        let is_committed = |answer: &BatchAnswer| {
            matches!(answer, BatchAnswer::Decided(BatchOutcome::Committed { .. }))
        };
        let decided = self.facts.iter().zip(answers);
        decided
            .filter(|(_, answer)| is_committed(answer))
            .map(|(facts, _)| u64::from(facts.record_count))
            .sum()
    }

    /// Hands each submission its answers, in the order of its batches.
    pub(crate) fn answer(self, answers: &[BatchAnswer]) {
        let mut by_submission: Vec<Vec<BatchAnswer>> = self
            .waiters
            .iter()
            .map(|waiter| vec![BatchAnswer::Ambiguous; waiter.batches])
            .collect();
        for (route, answer) in self.routes.iter().zip(answers) {
            by_submission[route.submission as usize][route.batch as usize] = *answer;
        }
        for (waiter, answers) in self.waiters.into_iter().zip(by_submission) {
            // The client may have gone away; then nobody waits for the answer.
            let _ = waiter.done.send(answers);
        }
    }
}

/// The head of a batch that begins at `end`, its length taken over.
fn head_of(bytes: &Bytes, end: LogEnd) -> Option<BatchHead> {
    let given: [u8; BATCH_HEAD_BYTES] = bytes.first_chunk().copied()?;
    let length = i32::from_be_bytes([given[8], given[9], given[10], given[11]]);
    Some(head16(end.offset, end.leader_epoch, length))
}
