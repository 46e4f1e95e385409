//! The time a leader stamps into commands: wall time, but never further than its monotonic clock
//! allows.
//!
//! Retention, sessions and expiry are decided by times in commands. A wall clock that jumps an hour
//! must not delete an hour's data, so while it differs by more than `clock_skew_ms_max` from what
//! the monotonic clock says, time stands still: stamps repeat the last one, and whoever deletes or
//! expires asks [`LeaderClock::stands_still`] first. Small steps are taken over at once, large ones
//! once the wall clock has gone on evenly from its new value for [`CLOCK_SETTLE_MS`]: a mended clock
//! or a machine that slept must not stop retention until a restart. Time never falls: behind a
//! step back that was believed, stamps repeat the last one until the wall clock has caught up.
//!
//! Not here: comparing with other members' clocks (there are none yet), reading clocks.

use tidemill_base::TimestampMs;

/// How long a wall clock that made a large step must agree with the monotonic clock before it is
/// believed: 10 minutes of monotonic time, enough for an operator to be told by `/readyz`.
pub(crate) const CLOCK_SETTLE_MS: i64 = 600_000;

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
struct Moment {
    wall_ms: i64,
    monotonic_ms: i64,
}

impl Moment {
    /// Whether both clocks went the same way from here to `now`, but for `skew_ms_max`.
    fn leads_to(self, now: Moment, skew_ms_max: i64) -> bool {
        let elapsed_ms = now.monotonic_ms.saturating_sub(self.monotonic_ms);
        let expected = self.wall_ms.saturating_add(elapsed_ms);
        now.wall_ms.saturating_sub(expected).saturating_abs() <= skew_ms_max
    }
}

/// Decides the time of the next command. Both clocks are arguments.
#[derive(Debug, Clone)]
pub(crate) struct LeaderClock {
    clock_skew_ms_max: i64,
    /// When the wall clock was last believed.
    believed: Moment,
    /// Since when the wall clock has gone on evenly after a large step.
    settling: Option<Moment>,
    last: TimestampMs,
}

impl LeaderClock {
    /// Begins at `wall`, believed as it is unless the state is further ahead than the skew allows:
    /// then the wall clock is expected to be where the state is.
    pub(crate) fn new(
        monotonic_ms: i64,
        wall: TimestampMs,
        state_time: TimestampMs,
        clock_skew_ms_max: i64,
    ) -> Self {
        let state_is_ahead = state_time.0.saturating_sub(wall.0) > clock_skew_ms_max;
        let wall_ms = if state_is_ahead { state_time.0 } else { wall.0 };
        Self {
            clock_skew_ms_max,
            believed: Moment { wall_ms, monotonic_ms },
            settling: None,
            last: state_time,
        }
    }

    /// The time for a command proposed now. Never falls.
    pub(crate) fn stamp(&mut self, monotonic_ms: i64, wall: TimestampMs) -> TimestampMs {
        let now = Moment { wall_ms: wall.0, monotonic_ms };
        if self.believed.leads_to(now, self.clock_skew_ms_max) || self.has_settled(now) {
            self.believed = now;
            self.settling = None;
            self.last = self.last.max(wall);
        }
        self.last
    }

    /// Whether a wall clock that is not where it was expected has gone on evenly for long enough.
    fn has_settled(&mut self, now: Moment) -> bool {
        match self.settling {
            Some(since) if since.leads_to(now, self.clock_skew_ms_max) => {
                now.monotonic_ms.saturating_sub(since.monotonic_ms) >= CLOCK_SETTLE_MS
            }
            _ => {
                self.settling = Some(now);
                false
            }
        }
    }

    /// Whether the last stamp repeated an older time because the wall clock is not believed.
    pub(crate) fn stands_still(&self) -> bool {
        self.settling.is_some()
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

    #[test]
    fn a_step_is_believed_once_the_wall_clock_has_gone_on_evenly_from_it() {
        let mut clock = LeaderClock::new(0, TimestampMs(1_000_000), TimestampMs(0), 10_000);
        assert_eq!(at(&mut clock, 0, 1_000_000), (1_000_000, false));
        assert_eq!(at(&mut clock, 10, 4_600_000), (1_000_000, true), "an hour ahead");
        let settled = 10 + CLOCK_SETTLE_MS;
        assert_eq!(
            at(&mut clock, settled - 1, 5_199_999),
            (1_000_000, true),
            "not for long enough"
        );
        assert_eq!(at(&mut clock, settled, 5_200_000), (5_200_000, false));
        assert_eq!(at(&mut clock, settled + 5, 5_200_005), (5_200_005, false), "and goes on");
    }

    #[test]
    fn another_step_begins_the_wait_anew() {
        let mut clock = LeaderClock::new(0, TimestampMs(1_000_000), TimestampMs(0), 10_000);
        assert_eq!(at(&mut clock, 0, 4_600_000), (0, true));
        assert_eq!(at(&mut clock, 500_000, 9_000_000), (0, true), "further still");
        assert_eq!(at(&mut clock, 600_000, 9_100_000), (0, true));
        assert_eq!(at(&mut clock, 1_100_000, 9_600_000), (9_600_000, false));
    }

    #[test]
    fn behind_a_step_back_that_is_believed_time_waits_for_the_wall_clock() {
        let mut clock = LeaderClock::new(0, TimestampMs(4_600_000), TimestampMs(0), 10_000);
        assert_eq!(at(&mut clock, 0, 4_600_000), (4_600_000, false));
        assert_eq!(at(&mut clock, 10, 1_000_000), (4_600_000, true), "an hour back");
        assert_eq!(at(&mut clock, 600_010, 1_600_000), (4_600_000, false), "believed, not behind");
        assert_eq!(at(&mut clock, 3_600_110, 4_600_100), (4_600_100, false), "caught up");
    }

    #[test]
    fn a_wall_clock_that_comes_to_where_the_state_is_is_believed_at_once() {
        let mut clock = LeaderClock::new(0, TimestampMs(1_000_000), TimestampMs(2_000_000), 10_000);
        assert_eq!(at(&mut clock, 10, 1_000_010), (2_000_000, true));
        assert_eq!(at(&mut clock, 5_000, 2_006_000), (2_006_000, false));
    }
}
