//! The log writer's port to the metadata: proposals of log objects.
//!
//! An object is held back, to be offered again by its lane, while too many extents wait to be
//! folded, while the metadata's proposals have no room, and behind one that was held back. So tiny
//! batches come in no faster than they are folded.

mod held_back;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tidemill_base::FileId;
use tidemill_base::ports::BoxFuture;
use tidemill_metadata_raft::{MetadataHandle, ProposeError};
use tidemill_metadata_state::command::{CommitObject, SealFile};
use tidemill_metadata_state::{Outcome, Refusal};
use tidemill_storage_lane::CommitAnswer;
use tidemill_storage_store::{Commits, ObjectCommit};

use self::held_back::HeldBack;
use crate::view::View;

/// How long an object that is held back may be kept waiting before its lane looks at it again.
const HELD_BACK_MAX: Duration = Duration::from_secs(1);

/// Commits through the metadata handle of this process.
pub struct MetadataCommits {
    metadata: MetadataHandle,
    view: Arc<View>,
    held_back: Mutex<HeldBack>,
    batches_under_way: Arc<AtomicU64>,
}

/// Batches of a proposal under way; counted out when dropped.
struct UnderWay {
    count: Arc<AtomicU64>,
    batches: u64,
}

impl UnderWay {
    fn new(count: &Arc<AtomicU64>, batches: u64) -> Self {
        count.fetch_add(batches, Ordering::Relaxed);
        Self { count: Arc::clone(count), batches }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.count.fetch_sub(self.batches, Ordering::Relaxed);
    }
}

impl MetadataCommits {
    /// The port over `metadata`, which `view` follows.
    #[must_use]
    pub fn new(metadata: MetadataHandle, view: Arc<View>) -> Self {
        Self { metadata, view, held_back: Mutex::default(), batches_under_way: Arc::default() }
    }

    /// Whether the extents that wait to be folded, and those that are about to, leave no room.
    fn is_folding_overdue(&self) -> bool {
        let under_way = self.batches_under_way.load(Ordering::Relaxed);
        self.view.extents_waiting() + under_way > self.view.fold_limits().hold_above
    }

    /// Proposes an object if its turn has come; `None` if it is held back.
    fn propose(
        &self,
        commit: ObjectCommit,
    ) -> Option<impl Future<Output = Result<Outcome, ProposeError>> + use<>> {
        let (lane, sequence) = (commit.object.lane, commit.object.sequence);
        let mut held_back = self.held_back.lock();
        if held_back.is_behind(lane, sequence, &commit.skips) || self.is_folding_overdue() {
            held_back.hold(lane, sequence);
            self.view.held_back().fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let under_way = UnderWay::new(&self.batches_under_way, commit.batches.len() as u64);
        let proposed = self.metadata.propose_ordered(CommitObject {
            object: commit.object,
            location: commit.location,
            skips: commit.skips,
            outcomes_received_up_to: commit.outcomes_received_up_to,
            batches: commit.batches,
        });
        if matches!(proposed, Err(ProposeError::Throttled)) {
            held_back.hold(lane, sequence);
        }
        Some(async move {
            let outcome = match proposed {
                Ok(proposed) => proposed.await,
                Err(error) => Err(error),
            };
            drop(under_way);
            outcome
        })
    }
}

impl Commits for MetadataCommits {
    fn commit(&self, commit: ObjectCommit) -> BoxFuture<'static, CommitAnswer> {
        let object = commit.object;
        let Some(proposed) = self.propose(commit) else {
            tracing::debug!(%object, "object held back");
            let view = Arc::clone(&self.view);
            return Box::pin(async move {
                // Folded or not, the lane asks again.
                let _ = tokio::time::timeout(HELD_BACK_MAX, view.has_room_for_extents()).await;
                CommitAnswer::NotNow
            });
        };
        Box::pin(async move {
            let answer = answer(proposed.await);
            match answer {
                CommitAnswer::Outcomes(_) => {}
                // Both come of load alone, and many at once: the lane proposes again.
                CommitAnswer::NotNow | CommitAnswer::Gap { .. } => {
                    tracing::debug!(%object, ?answer, "object not committed yet");
                }
                _ => tracing::warn!(%object, ?answer, "object not committed yet"),
            }
            answer
        })
    }

    fn file_sealed(&self, file: FileId, length: u64) {
        // If the queue is full the file stays unsealed until the broker registers again, which
        // seals all files of its older epochs: nothing is lost, space is freed later.
        if let Err(error) = self.metadata.propose_ordered(SealFile { file, length }) {
            tracing::warn!(%file, %error, "file not sealed");
        }
    }

    fn fenced(&self) {
        tracing::error!(
            "the broker's registration is void: it takes no more records until a restart"
        );
    }
}

fn answer(outcome: Result<Outcome, ProposeError>) -> CommitAnswer {
    match outcome {
        Ok(Outcome::Object(outcomes)) => CommitAnswer::Outcomes(outcomes.to_vec()),
        Ok(Outcome::Gap { expected }) => CommitAnswer::Gap { expected },
        Ok(Outcome::Refused(Refusal::Condemned)) => CommitAnswer::BelowFloor,
        Ok(Outcome::Refused(Refusal::TooManyInFlight | Refusal::Limit { .. })) => {
            CommitAnswer::NotNow
        }
        Ok(Outcome::Refused(refusal)) => {
            tracing::error!(%refusal, "the metadata refused an object");
            CommitAnswer::Fenced
        }
        Ok(other) => {
            tracing::error!(?other, "the metadata answered a commit with something else");
            CommitAnswer::Ambiguous
        }
        Err(ProposeError::Throttled | ProposeError::NotLeader) => CommitAnswer::NotNow,
        Err(ProposeError::Ambiguous) => CommitAnswer::Ambiguous,
        Err(ProposeError::Closed | ProposeError::TooLarge) => CommitAnswer::Fenced,
    }
}
