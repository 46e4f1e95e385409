//! What is counted of each API: requests, and how long their answers took.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tidemill_kafka::{API_TABLE, ApiKey};
use tokio::time::Instant;

/// Upper bounds of the latency buckets in microseconds; one more bucket holds the rest.
pub const LATENCY_BUCKETS_US: [u64; 14] = [
    250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000,
    2_000_000, 8_000_000,
];

/// At most one warning of reads that failed is written in so long.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// Reads that failed because records could not be had: a log file is missing or damaged.
#[derive(Debug, Default)]
pub struct FailedReads {
    count: AtomicU64,
    warned: Mutex<Warned>,
}

#[derive(Debug, Default)]
struct Warned {
    at: Option<Instant>,
    /// Failures since, of which nothing was written.
    untold: u64,
}

impl FailedReads {
    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts one, and writes a warning unless one was written a moment ago.
    pub fn failed(&self, partition: impl fmt::Display, offset: i64, error: impl fmt::Display) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let Some(untold) = self.to_warn(Instant::now()) else { return };
        tracing::warn!(%partition, offset, %error, untold, "records cannot be read");
    }

    /// The failures that go untold, if a warning is due.
    fn to_warn(&self, now: Instant) -> Option<u64> {
        let mut warned = self.warned.lock();
        if warned.at.is_some_and(|at| now.duration_since(at) < WARNING_INTERVAL) {
            warned.untold += 1;
            return None;
        }
        warned.at = Some(now);
        Some(std::mem::take(&mut warned.untold))
    }
}

/// Counters of one API.
#[derive(Debug, Default)]
pub struct ApiCounters {
    /// Requests answered.
    pub requests: AtomicU64,
    /// Microseconds from dispatch to answer, summed. A long-polling fetch counts its waiting.
    pub latency_us_sum: AtomicU64,
    /// Requests by latency.
    pub latency_us_buckets: [AtomicU64; LATENCY_BUCKETS_US.len() + 1],
}

/// Counters of all APIs.
#[derive(Debug)]
pub struct RequestMetrics {
    apis: Vec<(ApiKey, ApiCounters)>,
    /// Requests whose key or version is not served.
    pub unsupported: AtomicU64,
    /// Requests that could not be decoded.
    pub malformed: AtomicU64,
    /// Records in answers to fetches.
    pub records_fetched: AtomicU64,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        Self {
            apis: API_TABLE.iter().map(|row| (row.api, ApiCounters::default())).collect(),
            unsupported: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            records_fetched: AtomicU64::new(0),
        }
    }
}

impl RequestMetrics {
    /// Counts an answer.
    pub fn answered(&self, api: ApiKey, since: Instant) {
        let Some(counters) = self.api(api) else { return };
        let micros = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        let bucket = LATENCY_BUCKETS_US.partition_point(|bound| *bound < micros);
        counters.requests.fetch_add(1, Ordering::Relaxed);
        counters.latency_us_sum.fetch_add(micros, Ordering::Relaxed);
        counters.latency_us_buckets[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// The counters of one API.
    #[must_use]
    pub fn api(&self, api: ApiKey) -> Option<&ApiCounters> {
        let index = self.apis.binary_search_by_key(&api, |(api, _)| *api).ok()?;
        Some(&self.apis[index].1)
    }

    /// All APIs, by number.
    pub fn apis(&self) -> impl Iterator<Item = (ApiKey, &ApiCounters)> {
        self.apis.iter().map(|(api, counters)| (*api, counters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failed_reads_are_all_counted_and_told_once_a_second() {
        let failed = FailedReads::default();
        let begun = Instant::now();
        assert_eq!(failed.to_warn(begun), Some(0));
        assert_eq!(failed.to_warn(begun + WARNING_INTERVAL / 2), None);
        assert_eq!(failed.to_warn(begun + WARNING_INTERVAL), Some(1));
        failed.failed("t-0", 7, "gone");
        failed.failed("t-0", 7, "gone");
        assert_eq!(failed.count(), 2);
    }
}
