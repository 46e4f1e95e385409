//! The machine's wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

use tidemill_base::{Clock, TimestampMs};

/// Wall time as the system tells it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> TimestampMs {
        let ms = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        };
        TimestampMs(ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_lies_after_this_was_written() {
        assert!(SystemClock.now() > TimestampMs(1_700_000_000_000));
    }
}
