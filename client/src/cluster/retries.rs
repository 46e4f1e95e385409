//! Trying again until the time is up.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::error::{Error, Result};
use crate::prng::Prng;

/// The attempts of one call.
#[derive(Debug)]
pub(crate) struct Retries {
    deadline: Instant,
    failures: u32,
    backoff: Backoff,
    prng: Arc<Mutex<Prng>>,
    harmless: bool,
}

impl Retries {
    /// Attempts until `deadline` of a call that is not harmless to repeat.
    pub(crate) fn new(deadline: Instant, backoff: Backoff, prng: Arc<Mutex<Prng>>) -> Self {
        Self { deadline, failures: 0, backoff, prng, harmless: false }
    }

    /// The same for a call that may be repeated even when it may have taken effect: one that only
    /// reads, or that comes to the same when done twice.
    #[must_use]
    pub(crate) fn harmless(mut self) -> Self {
        self.harmless = true;
        self
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// `error` itself, if another attempt makes no sense or would come too late.
    pub(crate) async fn pause(&mut self, error: Error) -> Result<()> {
        if !error.may_repeat(self.harmless) {
            return Err(error);
        }
        self.failures += 1;
        let wait_ms = self.backoff.wait_ms(self.failures, &mut self.prng.lock());
        let wake = Instant::now() + Duration::from_millis(wait_ms);
        if wake >= self.deadline {
            return Err(error);
        }
        tracing::debug!(%error, failures = self.failures, wait_ms, "trying again");
        tokio::time::sleep_until(wake).await;
        Ok(())
    }
}
