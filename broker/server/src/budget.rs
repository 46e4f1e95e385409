//! Memory budgets: how many bytes a kind of work may hold at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A number of bytes that may be held at once. Waiting for a share is first come, first served.
#[derive(Clone, Debug)]
pub struct Budget {
    bytes: Arc<Semaphore>,
    total: u32,
}

/// Bytes held; given back when dropped.
#[derive(Debug)]
pub struct Held {
    permit: OwnedSemaphorePermit,
}

impl Budget {
    /// A budget of `total` bytes, at most 4 GiB.
    #[must_use]
    pub fn new(total: u32) -> Self {
        Self { bytes: Arc::new(Semaphore::new(total as usize)), total }
    }

    /// The whole budget in bytes.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.total
    }

    /// How many bytes are held now.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.total.saturating_sub(self.bytes.available_permits() as u32)
    }

    /// Holds `bytes`, waiting until others give some back. More than the whole budget counts as the
    /// whole.
    pub async fn hold(&self, bytes: u32) -> Held {
        let permit = Arc::clone(&self.bytes)
            .acquire_many_owned(bytes.min(self.total))
            .await
            .expect("the semaphore of a budget is never closed");
        Held { permit }
    }

    /// Holds `bytes` if that needs no waiting.
    #[must_use]
    pub fn try_hold(&self, bytes: u32) -> Option<Held> {
        let permit = Arc::clone(&self.bytes).try_acquire_many_owned(bytes.min(self.total)).ok()?;
        Some(Held { permit })
    }
}

impl Held {
    /// Adds what `other` holds of the same budget.
    pub(crate) fn merge(&mut self, other: Self) {
        self.permit.merge(other.permit);
    }

    /// How many bytes are held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.permit.num_permits()
    }
}
