//! The wall clock of the simulation: virtual time, plus an offset that faults may change.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tidemill_base::{Clock, TimestampMs};
use tokio::time::Instant;

/// When the simulated world begins.
const EPOCH_MS: i64 = 1_700_000_000_000;

/// A clock that jumps when told.
#[derive(Clone, Debug)]
pub struct SimClock {
    started: Instant,
    skew_ms: Arc<AtomicI64>,
}

impl SimClock {
    /// A clock that begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { started: Instant::now(), skew_ms: Arc::default() }
    }

    /// Sets how far the wall clock is from the truth.
    pub fn set_skew_ms(&self, skew_ms: i64) {
        self.skew_ms.store(skew_ms, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> TimestampMs {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        TimestampMs(EPOCH_MS + elapsed + self.skew_ms.load(Ordering::Relaxed))
    }
}
