//! The bounds of a lane, each with its meaning.

use std::time::Duration;

/// Skips that wait for a proposal, past which a full store is tried every 30 s only.
const FULL_SKIPS_MAX: usize = 4_096;

/// What bounds a lane. Times are measured on a monotonic clock.
#[derive(Clone, Debug)]
pub struct LaneLimits {
    /// An object is sealed before it would exceed this many bytes of batches (a single larger
    /// submission still goes alone). Default 4 MiB.
    pub object_bytes_max: u64,
    /// An object is sealed before it would exceed this many batches. Default 8,192.
    pub object_batches_max: u32,
    /// How long the oldest submission may wait for others before the object is sealed. Zero on a
    /// local disk, where what comes during a sync is the next object.
    pub linger: Duration,
    /// How many objects may be on their way to the store. 1 on a local disk.
    pub flushes_in_flight_max: usize,
    /// How many proposals may wait for an answer. The metadata keeps as many outcomes. Default 64.
    pub commits_in_flight_max: usize,
    /// Submissions waiting to be sealed may not exceed this many bytes. Default 64 MiB.
    pub queue_bytes_max: u64,
    /// A flush that was not proposed this long after it was sealed is given up. Far below the
    /// grace of the garbage collector. Default 30 s.
    pub flush_timeout: Duration,
    /// A put that takes this long is raced by a second one, to a new file. Default 2 s.
    pub slow_put: Duration,
    /// The first wait before a failed put or commit is tried again; doubled up to 1 s.
    pub retry_wait: Duration,
}

impl LaneLimits {
    /// The limits for a store on a local disk.
    #[must_use]
    pub fn local_disk() -> Self {
        Self {
            object_bytes_max: 4 << 20,
            object_batches_max: 8192,
            linger: Duration::ZERO,
            flushes_in_flight_max: 1,
            commits_in_flight_max: 64,
            queue_bytes_max: 64 << 20,
            flush_timeout: Duration::from_secs(30),
            slow_put: Duration::from_secs(2),
            retry_wait: Duration::from_millis(5),
        }
    }

    /// The limits for an object store, where a put is slow but many may be in flight.
    #[must_use]
    pub fn object_store() -> Self {
        Self {
            linger: Duration::from_millis(250),
            flushes_in_flight_max: 16,
            slow_put: Duration::from_secs(5),
            ..Self::local_disk()
        }
    }

    /// How long nothing is sealed after the store was full. Each try costs a skip that the next
    /// proposal has to name, so that a store that stays full is tried less and less often.
    pub(crate) fn full_wait(skips: usize) -> Duration {
        match skips {
            0..FULL_SKIPS_MAX => Duration::from_millis(250),
            _ => Duration::from_secs(30),
        }
    }

    /// The wait before attempt `tries + 1`.
    pub(crate) fn backoff(&self, tries: u32) -> Duration {
        self.retry_wait
            .saturating_mul(1 << tries.min(10))
            .min(Duration::from_secs(1).max(self.retry_wait))
    }
}
