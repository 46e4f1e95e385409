//! The only place where the driver reads a clock: monotonic nanoseconds and its own CPU time.
//!
//! All times of a run are nanoseconds since the [`Clock`] was made, so that schedules, latencies and
//! samples are plain integers and the arithmetic on them is tested without a clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// A monotonic clock that starts at 0.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock whose time is 0 now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Nanoseconds since it was started.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        saturating_ns(self.origin.elapsed())
    }
}

/// CPU time that this process has used so far, user and system, in nanoseconds.
#[must_use]
pub fn own_cpu_ns() -> u64 {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(spent.tv_sec).unwrap_or(0);
    seconds * SECOND_NS + u64::try_from(spent.tv_nsec).unwrap_or(0)
}

/// Milliseconds since 1970, for record timestamps and names of result files.
#[must_use]
pub fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A duration in nanoseconds; more than 584 years count as 584 years.
#[must_use]
pub fn saturating_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
