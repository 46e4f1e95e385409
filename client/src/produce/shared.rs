//! What a producer's handle and its sender share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::Instant;

use crate::error::Result;
use crate::produce::config::ProducerConfig;
use crate::produce::delivery::{BatchOutcome, StoredBatch};
use crate::produce::engine::Engine;
use crate::produce::partitioner::Partitioner;
use crate::produce::sequencer::BatchId;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: ProducerConfig,
    pub(crate) state: Mutex<State>,
    /// Tells the sender that there is something new.
    pub(crate) wake: Notify,
    /// One permit for each byte that may wait.
    pub(crate) room: Arc<Semaphore>,
    /// How many calls of `send` wait for room.
    pub(crate) waiting: AtomicUsize,
    /// Set once: nothing is sent any more.
    pub(crate) is_stopped: AtomicBool,
    /// What the engine's milliseconds count from.
    pub(crate) begun: Instant,
}

/// What is behind the lock. It is held for the time of an append or a poll, never across a wait.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) engine: Engine,
    pub(crate) partitioner: Partitioner,
    pub(crate) tickets: BTreeMap<BatchId, Ticket>,
}

/// Who waits for a batch, and how much room its records take.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) tell: oneshot::Sender<Result<StoredBatch>>,
    pub(crate) outcome: BatchOutcome,
    pub(crate) room_bytes: usize,
}

impl Shared {
    /// The engine's time.
    pub(crate) fn now_ms(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    /// Tells a batch's records what became of them, and gives their room back.
    pub(crate) fn tell(&self, batch: BatchId, result: Result<StoredBatch>) {
        let ticket = self.state.lock().tickets.remove(&batch);
        if let Some(ticket) = ticket {
            // Nobody may be interested.
            let _ = ticket.tell.send(result);
            self.room.add_permits(ticket.room_bytes);
        }
    }
}
