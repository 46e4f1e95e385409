//! Commits and deletions of offsets, proposed under the group's claim.

use std::sync::Arc;

use tidemill_base::{PartitionIndex, TopicId};
use tidemill_kafka::ErrorCode;
use tidemill_metadata_state::command::{CommitOffsets, Committer, DeleteOffsets, OffsetCommit};
use tidemill_metadata_state::{Command, Outcome, Refusal};

use super::coordinator::Coordinator;
use crate::refusals::{propose_code, refusal_code};

/// Bytes of offsets in one command; a command holds at most 1 MiB.
const COMMAND_BYTES_MAX: usize = 512 << 10;
/// Bytes that an offset takes beside its metadata, at most.
const OFFSET_BYTES: usize = 64;

impl Coordinator {
    /// Commits offsets. Returns a code for each, in order. What does not fit into one command is
    /// committed by several.
    pub(crate) async fn commit_offsets(
        self: &Arc<Self>,
        committer: Option<Committer>,
        offsets: Vec<OffsetCommit>,
    ) -> Vec<ErrorCode> {
        let mut codes = Vec::with_capacity(offsets.len());
        let mut offsets = offsets.into_iter().peekable();
        while offsets.peek().is_some() {
            let (mut bytes, mut chunk) = (0, Vec::new());
            while let Some(next) = offsets.peek() {
                bytes += OFFSET_BYTES + next.metadata.len();
                if bytes > COMMAND_BYTES_MAX && !chunk.is_empty() {
                    break;
                }
                chunk.extend(offsets.next());
            }
            let count = chunk.len();
            let committer = committer.clone();
            let command = |epoch| {
                let (committer, offsets) = (committer.clone(), chunk.clone());
                let group = self.name().to_owned();
                CommitOffsets { group, epoch, committer, offsets }.into()
            };
            codes.extend(self.propose_offsets(count, command).await);
        }
        codes
    }

    /// Deletes committed offsets. Returns a code for each, in order.
    pub(crate) async fn delete_offsets(
        self: &Arc<Self>,
        partitions: &[(TopicId, PartitionIndex)],
    ) -> Vec<ErrorCode> {
        let mut codes = Vec::with_capacity(partitions.len());
        for chunk in partitions.chunks(COMMAND_BYTES_MAX / OFFSET_BYTES) {
            let command = |epoch| {
                let group = self.name().to_owned();
                DeleteOffsets { group, epoch, partitions: chunk.to_vec() }.into()
            };
            codes.extend(self.propose_offsets(chunk.len(), command).await);
        }
        codes
    }

    async fn propose_offsets(
        self: &Arc<Self>,
        count: usize,
        command: impl Fn(tidemill_base::GroupEpoch) -> Command,
    ) -> Vec<ErrorCode> {
        let all = |code| vec![code; count];
        let Some(groups) = self.groups.upgrade() else { return all(ErrorCode::NOT_COORDINATOR) };
        let mut outcome = groups.metadata.propose(command(self.epoch())).await;
        if outcome == Ok(Outcome::Refused(Refusal::UnknownGroup)) {
            // It has expired since it was claimed.
            if let Err(code) = self.reclaim().await {
                return all(code);
            }
            outcome = groups.metadata.propose(command(self.epoch())).await;
        }
        match outcome {
            Ok(Outcome::Offsets(results)) => results.into_iter().map(offset_code).collect(),
            Ok(Outcome::Refused(Refusal::CoordinatorFenced)) => {
                self.close(ErrorCode::NOT_COORDINATOR);
                all(ErrorCode::NOT_COORDINATOR)
            }
            Ok(Outcome::Refused(refusal)) => all(offset_code(Err(refusal))),
            Ok(other) => {
                tracing::error!(?other, "the metadata answered offsets with something else");
                all(ErrorCode::UNKNOWN_SERVER_ERROR)
            }
            Err(error) if error.kind().is_retriable() => all(ErrorCode::COORDINATOR_NOT_AVAILABLE),
            Err(error) => all(propose_code(error)),
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
