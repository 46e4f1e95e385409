//! Memory budgets: how many bytes a kind of work may hold at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A number of bytes that may be held at once. Waiting for a share is first come, first served.
///
/// At most [three quarters](LARGE_QUARTERS) of it is for what holds memory before it can be worked on
/// ([`Budget::hold_large`]), so that senders who stop midway never keep all others waiting.
#[derive(Clone, Debug)]
pub struct Budget {
    bytes: Arc<Semaphore>,
    large: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    total: u32,
}

/// How many quarters of a budget may be held by large frames.
pub const LARGE_QUARTERS: u32 = 3;

/// What is small in [`Budget::hold_by_size`]: 64 KiB.
pub const SMALL_BYTES_MAX: u32 = 64 << 10;

/// Bytes held; given back when dropped.
#[derive(Debug)]
pub struct Held {
    permit: OwnedSemaphorePermit,
    large: Option<OwnedSemaphorePermit>,
}

impl Held {
    /// Holds what `other`, of the same budget, holds as well.
    pub fn join(&mut self, other: Self) {
        self.permit.merge(other.permit);
        match (&mut self.large, other.large) {
            (Some(mine), Some(others)) => mine.merge(others),
            (mine, others) => *mine = mine.take().or(others),
        }
    }
}

impl Budget {
    /// A budget of `total` bytes, at most 4 GiB.
    #[must_use]
    pub fn new(total: u32) -> Self {
        Self {
            bytes: Arc::new(Semaphore::new(total as usize)),
            large: Arc::new(Semaphore::new(large_total(total) as usize)),
            waiting: Arc::default(),
            total,
        }
    }

    /// The whole budget in bytes.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.total
    }

    /// How many bytes are held now.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.total.saturating_sub(self.available())
    }

    /// How many bytes could be held now. None while others wait.
    #[must_use]
    pub fn available(&self) -> u32 {
        self.bytes.available_permits() as u32
    }

    /// Holds `bytes`, waiting until others give some back. More than the whole budget counts as the
    /// whole.
    pub async fn hold(&self, bytes: u32) -> Held {
        let permit = acquire(&self.bytes, bytes.min(self.total)).await;
        Held { permit, large: None }
    }

    /// Holds `bytes` if that needs no waiting.
    #[must_use]
    pub fn try_hold(&self, bytes: u32) -> Option<Held> {
        let permit = Arc::clone(&self.bytes).try_acquire_many_owned(bytes.min(self.total)).ok()?;
        Some(Held { permit, large: None })
    }

    /// Like [`Budget::hold`], and meanwhile the budget [is contended](Budget::is_contended).
    pub async fn hold_contending(&self, bytes: u32) -> Held {
        let _waiting = Waiting::begin(&self.waiting);
        self.hold(bytes).await
    }

    /// Holds all the memory of a large frame before it arrives. In one piece: frames that each held a
    /// part and waited for the rest would wait for one another for ever.
    pub async fn hold_large(&self, bytes: u32) -> Held {
        let bytes = bytes.min(large_total(self.total));
        let _waiting = Waiting::begin(&self.waiting);
        let large = acquire(&self.large, bytes).await;
        let permit = acquire(&self.bytes, bytes).await;
        Held { permit, large: Some(large) }
    }

    /// Holds all the memory of a large frame if that needs no waiting.
    #[must_use]
    pub fn try_hold_large(&self, bytes: u32) -> Option<Held> {
        let bytes = bytes.min(large_total(self.total));
        let large = Arc::clone(&self.large).try_acquire_many_owned(bytes).ok()?;
        let held = self.try_hold(bytes)?;
        Some(Held { large: Some(large), ..held })
    }

    /// Like [`Budget::hold_contending`], and what is over [`SMALL_BYTES_MAX`] counts as large, so that
    /// it never keeps all that is small waiting.
    pub async fn hold_by_size(&self, bytes: u32) -> Held {
        match bytes {
            0..=SMALL_BYTES_MAX => match self.try_hold(bytes) {
                Some(held) => held,
                None => self.hold_contending(bytes).await,
            },
            _ => match self.try_hold_large(bytes) {
                Some(held) => held,
                None => self.hold_large(bytes).await,
            },
        }
    }

    /// Whether frames that arrive wait for memory, so that those who hold it must not dawdle.
    #[must_use]
    pub fn is_contended(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

fn large_total(total: u32) -> u32 {
    (total / 4).saturating_mul(LARGE_QUARTERS).max(1)
}

async fn acquire(semaphore: &Arc<Semaphore>, bytes: u32) -> OwnedSemaphorePermit {
    let acquired = Arc::clone(semaphore).acquire_many_owned(bytes).await;
    acquired.expect("the semaphore of a budget is never closed")
}

/// Counts those who wait, also when they give up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Held {
    /// How many bytes are held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.permit.num_permits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_frames_leave_a_quarter_to_others() {
        let budget = Budget::new(400);
        let large = budget.try_hold_large(300).unwrap();
        assert!(budget.try_hold_large(1).is_none());
        assert_eq!(budget.hold(100).await.bytes(), 100);
        drop(large);
        assert_eq!(budget.hold_large(1000).await.bytes(), 300);
    }

    #[tokio::test]
    async fn waiting_for_a_large_frame_is_told() {
        let budget = Budget::new(400);
        let held = budget.hold_large(300).await;
        assert!(!budget.is_contended());
        let mut waiting = Box::pin(budget.hold_large(10));
        assert!(futures::FutureExt::now_or_never(&mut waiting).is_none());
        assert!(budget.is_contended());
        drop(held);
        waiting.await;
        assert!(!budget.is_contended());
        assert_eq!(budget.held(), 0);
    }
}
