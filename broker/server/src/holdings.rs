//! What a request under way holds beside its frame, until its answer is on its way.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::budget::Held;

/// Answers that are built at once. Building one takes a processor and nothing to wait for, and until it
/// is built nobody knows how much memory it takes.
const TURNS: usize = 2;

/// Turns at building answers that may be long however short their requests are.
#[derive(Clone, Debug)]
pub struct Turns {
    turns: Arc<Semaphore>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(TURNS)) }
    }
}

/// What one request holds. Cheap to clone; all clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Holdings {
    /// None: nothing is held, whatever is asked.
    held: Option<Arc<Mutex<What>>>,
}

#[derive(Default)]
struct What {
    /// Of the budget for decoded requests.
    decoded: Option<Held>,
    turn: Option<OwnedSemaphorePermit>,
}

impl Holdings {
    /// Those of a request whose lists take `decoded`.
    pub(crate) fn new(decoded: Option<Held>) -> Self {
        Self { held: Some(Arc::new(Mutex::new(What { decoded, turn: None }))) }
    }

    /// Waits for a turn at building the answer, which is kept until the answer's memory is held. Nothing
    /// else may be waited for after it.
    pub(crate) async fn take_turn(&self, turns: &Turns) {
        let Some(held) = &self.held else { return };
        // The semaphore is never closed.
        if let Ok(turn) = Arc::clone(&turns.turns).acquire_owned().await {
            held.lock().turn = Some(turn);
        }
    }

    /// The request's lists are gone.
    pub(crate) fn request_is_gone(&self) {
        if let Some(held) = &self.held {
            held.lock().decoded = None;
        }
    }

    /// The answer's memory is held.
    pub(crate) fn end(&self) {
        if let Some(held) = &self.held {
            *held.lock() = What::default();
        }
    }
}

impl fmt::Debug for Holdings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holdings").finish_non_exhaustive()
    }
}
