//! What the metadata log counts: plain atomics that anyone may read at any time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the sync latency histogram, in microseconds; one more bucket holds the rest.
pub const SYNC_BUCKETS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000];

/// Counters and gauges of one member's metadata log. Counters only rise within a process.
#[derive(Debug, Default)]
pub struct RaftMetrics {
    /// Proposals taken into the log.
    pub proposals: AtomicU64,
    /// Proposals refused because the queue was full.
    pub proposals_throttled: AtomicU64,
    /// Proposals waiting or in flight now.
    pub proposals_pending: AtomicU64,
    /// Entries written to the log.
    pub entries_appended: AtomicU64,
    /// Bytes written to the log, frames included.
    pub bytes_appended: AtomicU64,
    /// Group commits: writes that were followed by a sync.
    pub appends: AtomicU64,
    /// The largest number of entries in one group commit.
    pub batch_entries_max: AtomicU64,
    /// Syncs of the log that succeeded.
    pub syncs: AtomicU64,
    /// Writes or syncs of the log that failed, each followed by a new segment.
    pub append_failures: AtomicU64,
    /// Microseconds spent in syncs.
    pub sync_us_sum: AtomicU64,
    /// Syncs by latency; see [`SYNC_BUCKETS_US`].
    pub sync_us_buckets: [AtomicU64; SYNC_BUCKETS_US.len() + 1],
    /// Segments of the log now.
    pub segments: AtomicU64,
    /// Commands applied, replay included.
    pub commands_applied: AtomicU64,
    /// The last applied index.
    pub applied_index: AtomicU64,
    /// State saves that succeeded.
    pub saves: AtomicU64,
    /// State saves that failed and are tried again.
    pub save_failures: AtomicU64,
    /// The applied index of the last save.
    pub saved_index: AtomicU64,
    /// Microseconds of the last save.
    pub save_us_last: AtomicU64,
    /// The longest time that taking out what changed held up the loop, in microseconds.
    pub save_stall_us_max: AtomicU64,
    /// Watchers cut off because they were slow.
    pub watchers_cut_off: AtomicU64,
    /// 1 while the wall clock is not believed, else 0.
    pub time_stands_still: AtomicU64,
    /// Torn tails cut while recovering.
    pub torn_tails_cut: AtomicU64,
    /// Entries replayed while recovering.
    pub entries_replayed: AtomicU64,
    /// Microseconds that recovery took.
    pub recovery_us: AtomicU64,
}

impl RaftMetrics {
    pub(crate) fn observe_sync(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        add(&self.syncs, 1);
        add(&self.sync_us_sum, us);
        let bucket = SYNC_BUCKETS_US.partition_point(|bound| *bound < us);
        add(&self.sync_us_buckets[bucket], 1);
    }

    pub(crate) fn observe_append(&self, entries: u64) {
        add(&self.appends, 1);
        add(&self.entries_appended, entries);
        self.batch_entries_max.fetch_max(entries, Ordering::Relaxed);
    }
}

/// Adds to a counter.
pub(crate) fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

/// Sets a gauge.
pub(crate) fn set(gauge: &AtomicU64, to: u64) {
    gauge.store(to, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_lands_in_the_bucket_of_its_latency() {
        let metrics = RaftMetrics::default();
        for us in [1, 100, 101, 2_000_000] {
            metrics.observe_sync(Duration::from_micros(us));
        }
        let count = |bucket: usize| metrics.sync_us_buckets[bucket].load(Ordering::Relaxed);
        assert_eq!((count(0), count(1), count(SYNC_BUCKETS_US.len())), (2, 1, 1));
        assert_eq!(metrics.syncs.load(Ordering::Relaxed), 4);
    }
}
