//! What a log reader counts: plain counters, read by the metrics page.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where reads were answered from.
#[derive(Debug, Default)]
pub struct ReadCounters {
    /// Reads answered by the hot cache.
    pub hot_reads: AtomicU64,
    /// Bytes of those.
    pub hot_bytes: AtomicU64,
    /// Ranges of files given to the socket.
    pub lent_reads: AtomicU64,
    /// Bytes of those.
    pub lent_bytes: AtomicU64,
    /// Pieces answered by blocks read before.
    pub block_reads: AtomicU64,
    /// Bytes of those.
    pub block_bytes: AtomicU64,
    /// Reads of the store.
    pub store_reads: AtomicU64,
    /// Bytes of those, read ahead or not.
    pub store_bytes: AtomicU64,
    /// Reads whose batches failed their check.
    pub check_failures: AtomicU64,
}

impl ReadCounters {
    pub(super) fn hot(&self, bytes: usize) {
        Self::add(&self.hot_reads, 1);
        Self::add(&self.hot_bytes, bytes as u64);
    }

    pub(super) fn lent(&self, bytes: usize) {
        Self::add(&self.lent_reads, 1);
        Self::add(&self.lent_bytes, bytes as u64);
    }

    pub(super) fn block(&self, bytes: usize) {
        Self::add(&self.block_reads, 1);
        Self::add(&self.block_bytes, bytes as u64);
    }

    pub(super) fn store(&self, bytes: usize) {
        Self::add(&self.store_reads, 1);
        Self::add(&self.store_bytes, bytes as u64);
    }

    pub(super) fn add(counter: &AtomicU64, value: u64) {
        counter.fetch_add(value, Ordering::Relaxed);
    }
}
