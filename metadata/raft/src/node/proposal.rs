//! Proposals on their way: queued, then in the log, then answered.

use std::collections::VecDeque;

use bytes::Bytes;
use tidemill_base::TimestampMs;
use tidemill_metadata_state::{Command, Outcome};
use tokio::sync::oneshot;

use crate::budget::ProposalPermit;
use crate::error::ProposeError;
use crate::log::LogPosition;

/// A proposal as a handle queues it.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) command: Command,
    pub(crate) proposed: TimestampMs,
    /// The command as an entry of the log.
    pub(crate) encoded: Bytes,
    pub(crate) reply: Reply,
}

/// Answers one proposal and gives back its part of the budget.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) sender: oneshot::Sender<Result<Outcome, ProposeError>>,
    pub(crate) permit: ProposalPermit,
}

impl Reply {
    pub(crate) fn send(self, answer: Result<Outcome, ProposeError>) {
        drop(self.permit);
        // The proposer may have stopped waiting; the command is applied all the same.
        let _ = self.sender.send(answer);
    }
}

/// Proposals that are in the log and not applied yet, by index. Dropping it answers none of them:
/// their proposers see an ambiguous end.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    queue: VecDeque<(LogPosition, Proposal)>,
}

impl Pending {
    pub(crate) fn push(&mut self, position: LogPosition, proposal: Proposal) {
        self.queue.push_back((position, proposal));
    }

    /// The proposal that became the entry at `position`, if it was proposed here. Proposals whose
    /// entries were replaced by others are answered on the way: they will not be applied.
    pub(crate) fn take(&mut self, position: LogPosition) -> Option<Proposal> {
        while let Some((next, _)) = self.queue.front() {
            if next.index > position.index {
                return None;
            }
            let (next, proposal) = self.queue.pop_front()?;
            if next == position {
                return Some(proposal);
            }
            proposal.reply.send(Err(ProposeError::NotLeader));
        }
        None
    }
}
