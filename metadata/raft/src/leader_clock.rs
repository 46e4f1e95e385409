//! The time a leader stamps into commands: wall time, but never further than its monotonic clock
//! allows (DESIGN section 5).
//!
//! Retention, sessions and expiry are decided by times in commands. A wall clock that jumps an hour
//! must not delete an hour's data, so while it differs by more than `clock_skew_ms_max` from what
//! the monotonic clock says, time stands still: stamps repeat the last one, and whoever deletes or
//! expires asks [`LeaderClock::stands_still`] first. Small steps are taken over at once.
//!
//! Not here: comparing with other members' clocks (there are none yet), reading clocks.

use tidemill_base::TimestampMs;

/// Decides the time of the next command. Both clocks are arguments.
#[derive(Debug, Clone)]
pub(crate) struct LeaderClock {
    clock_skew_ms_max: i64,
    /// The wall time last believed, and the monotonic time at that moment.
    anchor_wall_ms: i64,
    anchor_monotonic_ms: i64,
    last: TimestampMs,
    stands_still: bool,
}

impl LeaderClock {
    /// Begins at `wall`, believed as it is unless the state is further ahead than the skew allows.
    pub(crate) fn new(
        monotonic_ms: i64,
        wall: TimestampMs,
        state_time: TimestampMs,
        clock_skew_ms_max: i64,
    ) -> Self {
        Self {
            clock_skew_ms_max,
            anchor_wall_ms: wall.0,
            anchor_monotonic_ms: monotonic_ms,
            last: state_time,
            stands_still: false,
        }
    }

    /// The time for a command proposed now. Never falls.
    pub(crate) fn stamp(&mut self, monotonic_ms: i64, wall: TimestampMs) -> TimestampMs {
        let elapsed_ms = monotonic_ms.saturating_sub(self.anchor_monotonic_ms);
        let expected = self.anchor_wall_ms.saturating_add(elapsed_ms);
        let skew = wall.0.saturating_sub(expected).saturating_abs();
        let behind_state = self.last.0.saturating_sub(wall.0);
        self.stands_still = skew > self.clock_skew_ms_max || behind_state > self.clock_skew_ms_max;
        if !self.stands_still {
            self.anchor_wall_ms = wall.0;
            self.anchor_monotonic_ms = monotonic_ms;
            self.last = self.last.max(wall);
        }
        self.last
    }

    /// Whether the last stamp repeated an older time because the wall clock is not believed.
    pub(crate) fn stands_still(&self) -> bool {
        self.stands_still
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(clock: &mut LeaderClock, monotonic_ms: i64, wall_ms: i64) -> (i64, bool) {
        let stamp = clock.stamp(monotonic_ms, TimestampMs(wall_ms));
        (stamp.0, clock.stands_still())
    }

    #[test]
    fn time_follows_the_wall_clock_and_its_small_steps() {
        let mut clock = LeaderClock::new(0, TimestampMs(1_000_000), TimestampMs(0), 10_000);
        assert_eq!(at(&mut clock, 5, 1_000_005), (1_000_005, false));
        assert_eq!(at(&mut clock, 10, 1_009_000), (1_009_000, false), "a step of nine seconds");
        assert_eq!(at(&mut clock, 20, 1_004_000), (1_009_000, false), "never falls");
        assert_eq!(at(&mut clock, 8_000, 1_012_000), (1_012_000, false));
    }

    #[test]
    fn time_stands_still_while_the_wall_clock_is_far_off() {
        let mut clock = LeaderClock::new(0, TimestampMs(1_000_000), TimestampMs(0), 10_000);
        assert_eq!(at(&mut clock, 10, 1_000_010), (1_000_010, false));
        assert_eq!(at(&mut clock, 20, 4_600_000), (1_000_010, true), "an hour ahead");
        assert_eq!(at(&mut clock, 30, 20), (1_000_010, true), "1970");
        assert_eq!(at(&mut clock, 3_000, 1_003_000), (1_003_000, false), "it came back");
    }

    #[test]
    fn time_stands_still_while_the_state_is_far_ahead() {
        let mut clock = LeaderClock::new(0, TimestampMs(1_000_000), TimestampMs(2_000_000), 10_000);
        assert_eq!(at(&mut clock, 10, 1_000_010), (2_000_000, true));
    }
}
