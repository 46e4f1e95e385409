//! Commits and deletions of offsets, proposed under the group's claim.

use std::sync::Arc;

use tidemill_base::twins::{self, Twin};
use tidemill_base::{GroupEpoch, PartitionIndex, TopicId};
use tidemill_kafka::ErrorCode;
use tidemill_metadata_raft::ProposeError;
use tidemill_metadata_state::command::{CommitOffsets, Committer, DeleteOffsets, OffsetCommit};
use tidemill_metadata_state::{Command, Group, Outcome, Refusal};

use super::coordinator::Coordinator;
use crate::refusals::{propose_code, refusal_code};

/// Partitions whose offsets one command deletes; far below what fits into a command.
const DELETIONS_PER_COMMAND_MAX: usize = 8192;

impl Coordinator {
    /// Commits offsets, by one command. Returns a code for each, in order.
    ///
    /// What is too large for a command is refused whole (INVALID_COMMIT_OFFSET_SIZE). As in Kafka,
    /// an offset whose metadata is too long is refused alone, and does not count for that.
    pub(crate) async fn commit_offsets(
        self: &Arc<Self>,
        committer: Option<Committer>,
        mut offsets: Vec<OffsetCommit>,
    ) -> Vec<ErrorCode> {
        if twins::is_on(Twin::OffsetsSplit) && offsets.len() > 1 {
            let rest = offsets.split_off(1);
            let mut codes = Box::pin(self.commit_offsets(committer.clone(), offsets)).await;
            codes.extend(Box::pin(self.commit_offsets(committer, rest)).await);
            return codes;
        }
        let fits =
            |offset: &OffsetCommit| offset.metadata.len() <= Group::OFFSET_METADATA_BYTES_MAX;
        let fitting: Vec<bool> = offsets.iter().map(fits).collect();
        if fitting.is_empty() {
            return Vec::new();
        }
        let offsets: Vec<OffsetCommit> = offsets.into_iter().filter(fits).collect();
        let command = |epoch| {
            let (committer, offsets) = (committer.clone(), offsets.clone());
            let group = self.name().to_owned();
            CommitOffsets { group, epoch, committer, offsets }.into()
        };
        if twins::is_on(Twin::OffsetsAckedEarly) {
            let groups = self.groups.upgrade();
            drop(groups.map(|groups| groups.metadata.propose_ordered(command(self.epoch()))));
            return vec![ErrorCode::NONE; fitting.len()];
        }
        match self.propose_offsets(command).await {
            Ok(codes) => {
                let mut codes = codes.into_iter();
                let code = |fits| match fits {
                    true => codes.next().unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR),
                    false => ErrorCode::OFFSET_METADATA_TOO_LARGE,
                };
                fitting.into_iter().map(code).collect()
            }
            Err(code) => vec![code; fitting.len()],
        }
    }

    /// Deletes committed offsets. Returns a code for each, in order. Very many are deleted by
    /// several commands: each deletion stands for itself.
    pub(crate) async fn delete_offsets(
        self: &Arc<Self>,
        partitions: &[(TopicId, PartitionIndex)],
    ) -> Vec<ErrorCode> {
        let mut codes = Vec::with_capacity(partitions.len());
        for chunk in partitions.chunks(DELETIONS_PER_COMMAND_MAX) {
            let command = |epoch| {
                let group = self.name().to_owned();
                DeleteOffsets { group, epoch, partitions: chunk.to_vec() }.into()
            };
            match self.propose_offsets(command).await {
                Ok(results) => codes.extend(results),
                Err(code) => codes.extend(std::iter::repeat_n(code, chunk.len())),
            }
        }
        codes
    }

    /// A code for each offset of the command, or one for the command as a whole.
    async fn propose_offsets(
        self: &Arc<Self>,
        command: impl Fn(GroupEpoch) -> Command,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        let groups = self.groups.upgrade().ok_or(ErrorCode::NOT_COORDINATOR)?;
        let mut outcome = groups.metadata.propose(command(self.epoch())).await;
        if outcome == Ok(Outcome::Refused(Refusal::UnknownGroup)) {
            // It has expired since it was claimed.
            self.reclaim().await?;
            outcome = groups.metadata.propose(command(self.epoch())).await;
        }
        match outcome {
            Ok(Outcome::Offsets(results)) => Ok(results.into_iter().map(offset_code).collect()),
            Ok(Outcome::Refused(Refusal::CoordinatorFenced)) => {
                self.close(ErrorCode::NOT_COORDINATOR);
                Err(ErrorCode::NOT_COORDINATOR)
            }
            Ok(Outcome::Refused(refusal)) => Err(offset_code(Err(refusal))),
            Ok(other) => {
                tracing::error!(?other, "the metadata answered offsets with something else");
                Err(ErrorCode::UNKNOWN_SERVER_ERROR)
            }
            Err(ProposeError::TooLarge) => Err(ErrorCode::INVALID_COMMIT_OFFSET_SIZE),
            Err(error) if error.kind().is_retriable() => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE),
            Err(error) => Err(propose_code(error)),
        }
    }

    /// Claims the group again, which the metadata does not know any more.
    pub(super) async fn reclaim(self: &Arc<Self>) -> Result<(), ErrorCode> {
        let groups = self.groups.upgrade().ok_or(ErrorCode::NOT_COORDINATOR)?;
        let (epoch, _) = groups.claim(self.name()).await?;
        self.reclaimed(epoch);
        Ok(())
    }
}

fn offset_code(result: Result<(), Refusal>) -> ErrorCode {
    match result {
        Ok(()) => ErrorCode::NONE,
        // The client is to try again, later.
        Err(Refusal::Limit { .. }) => ErrorCode::COORDINATOR_NOT_AVAILABLE,
        Err(refusal) => refusal_code(&refusal),
    }
}
