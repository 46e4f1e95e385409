//! How long syncs of log files take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets in microseconds; one more bucket holds the rest.
pub const SYNC_BUCKETS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];

/// What a store counts of its syncs, those that failed included. Plain counters, read by the metrics
/// page.
#[derive(Debug, Default)]
pub struct SyncCounters {
    /// Microseconds, summed over syncs.
    pub us_sum: AtomicU64,
    /// Syncs by how long they took.
    pub us_buckets: [AtomicU64; SYNC_BUCKETS_US.len() + 1],
}

impl SyncCounters {
    pub(super) fn observe(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = SYNC_BUCKETS_US.partition_point(|bound| *bound < us);
        self.us_sum.fetch_add(us, Ordering::Relaxed);
        self.us_buckets[bucket].fetch_add(1, Ordering::Relaxed);
    }
}
