//! The log writer's port to the metadata: proposals of log objects.

use tidemill_base::FileId;
use tidemill_base::ports::BoxFuture;
use tidemill_metadata_raft::{MetadataHandle, ProposeError};
use tidemill_metadata_state::command::{CommitObject, SealFile};
use tidemill_metadata_state::{Outcome, Refusal};
use tidemill_storage_lane::CommitAnswer;
use tidemill_storage_store::{Commits, ObjectCommit};

/// Commits through the metadata handle of this process.
pub struct MetadataCommits {
    metadata: MetadataHandle,
}

impl MetadataCommits {
    /// The port over `metadata`.
    #[must_use]
    pub fn new(metadata: MetadataHandle) -> Self {
        Self { metadata }
    }
}

impl Commits for MetadataCommits {
    fn commit(&self, commit: ObjectCommit) -> BoxFuture<'static, CommitAnswer> {
        let object = commit.object;
        let proposed = self.metadata.propose_ordered(CommitObject {
            object,
            location: commit.location,
            skips: commit.skips,
            outcomes_received_up_to: commit.outcomes_received_up_to,
            batches: commit.batches,
        });
        Box::pin(async move {
            let outcome = match proposed {
                Ok(proposed) => proposed.await,
                Err(error) => Err(error),
            };
            let answer = answer(outcome);
            if !matches!(answer, CommitAnswer::Outcomes(_)) {
                tracing::warn!(%object, ?answer, "object not committed yet");
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
