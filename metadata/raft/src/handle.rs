//! What the rest of the process holds of its metadata member.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use tidemill_base::AppliedIndex;
use tidemill_metadata_state::{Command, MetadataState, Outcome};
use tokio::sync::{mpsc, oneshot, watch};

use crate::error::ProposeError;
use crate::metrics::{self, RaftMetrics};
use crate::node::member::Request;
use crate::node::proposal::{Proposal, Reply};
use crate::node::shared::Shared;
use crate::options::COMMAND_BYTES_MAX;
use crate::watch::Subscription;

/// A handle on a running member. Clones share it; the member closes when the last one is dropped.
#[derive(Clone)]
pub struct MetadataHandle {
    shared: Arc<Shared>,
    proposals: mpsc::Sender<Proposal>,
    requests: mpsc::Sender<Request>,
    ended: watch::Receiver<bool>,
}

/// A proposal that was queued. Dropping it gives up the answer, not the command.
#[derive(Debug)]
pub struct Proposed {
    answer: oneshot::Receiver<Result<Outcome, ProposeError>>,
}

impl Future for Proposed {
    type Output = Result<Outcome, ProposeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answer)
            .poll(context)
            .map(|answer| answer.unwrap_or(Err(ProposeError::Ambiguous)))
    }
}

/// What a member holds of its memory budgets, in bytes, and what each allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RaftMemory {
    /// Proposals that are not answered yet.
    pub proposal_bytes: u64,
    /// [`crate::RaftOptions::proposal_bytes_pending_max`].
    pub proposal_bytes_max: u64,
    /// Commands applied whose changes are not saved, which is about what the changes take.
    pub unsaved_bytes: u64,
    /// [`crate::RaftOptions::state_save_bytes`]: from here on a save is begun at once.
    pub unsaved_bytes_max: u64,
}

impl MetadataHandle {
    pub(crate) fn new(
        shared: Arc<Shared>,
        proposals: mpsc::Sender<Proposal>,
        requests: mpsc::Sender<Request>,
        ended: watch::Receiver<bool>,
    ) -> Self {
        Self { shared, proposals, requests, ended }
    }

    /// Proposes a command and waits for its outcome. When it returns `Ok`, the command is durable
    /// and applied, and its events were delivered.
    ///
    /// # Errors
    /// See [`ProposeError`]: only `Ambiguous` leaves open whether the command is applied.
    pub async fn propose(&self, command: impl Into<Command>) -> Result<Outcome, ProposeError> {
        self.propose_ordered(command)?.await
    }

    /// Queues a command at once and returns what waits for its outcome. Commands queued one after
    /// another by one caller are applied in that order.
    ///
    /// # Errors
    /// `Throttled`, `TooLarge` or `Closed`: the command was not queued and will not be applied.
    pub fn propose_ordered(&self, command: impl Into<Command>) -> Result<Proposed, ProposeError> {
        let command = command.into();
        if self.shared.is_closing() {
            return Err(ProposeError::Closed);
        }
        let proposed = self.shared.stamp();
        let encoded = command.encode(proposed);
        if encoded.len() > COMMAND_BYTES_MAX {
            return Err(ProposeError::TooLarge);
        }
        let Some(permit) = self.shared.budget.take(encoded.len() as u64) else {
            metrics::add(&self.shared.metrics.proposals_throttled, 1);
            return Err(ProposeError::Throttled);
        };
        let (sender, answer) = oneshot::channel();
        let reply = Reply { sender, permit };
        match self.proposals.try_send(Proposal { command, proposed, encoded, reply }) {
            Ok(()) => Ok(Proposed { answer }),
            Err(mpsc::error::TrySendError::Full(_)) => Err(ProposeError::Throttled),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(ProposeError::Closed),
        }
    }

    /// An index that covers every command acknowledged before this call, applied here and confirmed
    /// by the leader: what [`with_state`](Self::with_state) shows from now on is current.
    ///
    /// # Errors
    /// `Throttled` if too many requests wait, `Closed` if the member ended.
    pub async fn read_index(&self) -> Result<AppliedIndex, ProposeError> {
        if self.shared.is_closing() {
            return Err(ProposeError::Closed);
        }
        if self.shared.leads_alone.load(Ordering::Acquire) {
            // A command is applied here before it is acknowledged, and nobody else could lead.
            return Ok(self.applied_index());
        }
        let (sender, answer) = oneshot::channel();
        match self.requests.try_send(Request::ReadIndex(sender)) {
            Ok(()) => answer.await.map_err(|_| ProposeError::Closed),
            Err(mpsc::error::TrySendError::Full(_)) => Err(ProposeError::Throttled),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(ProposeError::Closed),
        }
    }

    /// Looks at the applied state. `look` holds up apply while it runs: it must be short and must
    /// not block, propose or subscribe.
    pub fn with_state<T>(&self, look: impl FnOnce(&MetadataState) -> T) -> T {
        look(&self.shared.state.read())
    }

    /// The index of the last applied command.
    #[must_use]
    pub fn applied_index(&self) -> AppliedIndex {
        *self.shared.applied.borrow()
    }

    /// Follows the applied index. It changes after the events up to it were delivered.
    #[must_use]
    pub fn watch_applied(&self) -> watch::Receiver<AppliedIndex> {
        self.shared.applied.subscribe()
    }

    /// Begins to watch: a snapshot of everything, then every change. `None` if too many watch.
    #[must_use]
    pub fn subscribe(&self) -> Option<Subscription> {
        let state = self.shared.state.read();
        self.shared.hub.subscribe(state.applied_index(), state.snapshot_events())
    }

    /// How many watch now.
    #[must_use]
    pub fn watchers(&self) -> usize {
        self.shared.hub.len()
    }

    /// What is held of the memory budgets.
    #[must_use]
    pub fn memory(&self) -> RaftMemory {
        let (proposal_bytes, proposal_bytes_max) = self.shared.budget.bytes();
        RaftMemory {
            proposal_bytes,
            proposal_bytes_max,
            unsaved_bytes: self.shared.unsaved_bytes(),
            unsaved_bytes_max: self.shared.state_save_bytes,
        }
    }

    /// The counters.
    #[must_use]
    pub fn metrics(&self) -> Arc<RaftMetrics> {
        Arc::clone(&self.shared.metrics)
    }

    /// Whether the wall clock is not believed now: then nothing that deletes or expires may be
    /// proposed.
    #[must_use]
    pub fn time_stands_still(&self) -> bool {
        self.shared.time_stands_still()
    }

    /// Holds back saves of the applied state, so that a restart replays the log from here on. For
    /// tests and benchmarks.
    pub fn hold_back_saves(&self, held_back: bool) {
        self.shared.saves_held_back.store(held_back, Ordering::Relaxed);
    }

    /// For tests: the next reads ask the Raft core, as in a larger quorum.
    #[cfg(test)]
    pub(crate) fn forget_that_it_leads_alone(&self) {
        self.shared.leads_alone.store(false, Ordering::Release);
    }

    /// Ends the member: what is queued is refused as `Closed`, the state is saved, then the loop
    /// ends. Returns when it has.
    pub async fn close(&self) {
        self.shared.close();
        // An error means that the loop's task is gone, which is the end as well.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }
}
