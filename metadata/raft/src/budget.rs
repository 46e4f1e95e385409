//! What proposals that wait or are in flight may take: a number of them and a number of bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Shared by all proposers. Full means "slow down" (`Throttled`), never waiting.
#[derive(Debug)]
pub(crate) struct ProposalBudget {
    count_max: u64,
    bytes_max: u64,
    count: AtomicU64,
    bytes: AtomicU64,
}

/// The part of the budget one proposal holds until it is answered.
#[derive(Debug)]
pub(crate) struct ProposalPermit {
    budget: Arc<ProposalBudget>,
    bytes: u64,
}

impl ProposalBudget {
    pub(crate) fn new(count_max: u64, bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { count_max, bytes_max, count: AtomicU64::new(0), bytes: AtomicU64::new(0) })
    }

    /// Takes the part of one proposal; `None` if the budget is used up.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Option<ProposalPermit> {
        let fits = |max: u64, add: u64| move |used: u64| (used + add <= max).then_some(used + add);
        let order = Ordering::AcqRel;
        self.count.fetch_update(order, Ordering::Acquire, fits(self.count_max, 1)).ok()?;
        if self.bytes.fetch_update(order, Ordering::Acquire, fits(self.bytes_max, bytes)).is_err() {
            self.count.fetch_sub(1, order);
            return None;
        }
        Some(ProposalPermit { budget: Arc::clone(self), bytes })
    }

    /// Bytes of proposals not answered yet, and how many there may be.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.bytes.load(Ordering::Acquire), self.bytes_max)
    }

    /// Proposals not answered yet.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }
}

impl Drop for ProposalPermit {
    fn drop(&mut self) {
        self.budget.count.fetch_sub(1, Ordering::AcqRel);
        self.budget.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_budget_refuses_until_a_permit_is_dropped() {
        let budget = ProposalBudget::new(2, 100);
        let first = budget.take(60).unwrap();
        assert!(budget.take(60).is_none(), "bytes");
        let _second = budget.take(40).unwrap();
        assert_eq!(budget.bytes(), (100, 100));
        assert!(budget.take(0).is_none(), "count");
        drop(first);
        assert!(budget.take(60).is_some());
        assert_eq!((budget.count(), budget.bytes()), (1, (40, 100)));
    }
}
