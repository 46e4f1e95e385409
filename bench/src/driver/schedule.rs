//! The open-loop schedule of one connection: when its n-th request is meant to go out.

use crate::clock::SECOND_NS;

/// An even schedule: the connections of a run take turns, so that their sum is even too.
///
/// Times are computed from the count, never summed up, so that no rounding error grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schedule {
    start_ns: u64,
    batch_bytes: u64,
    bytes_per_second: u64,
    connection: u64,
    connections: u64,
}

impl Schedule {
    /// The schedule of connection `connection` of `connections`, which together send batches of
    /// `batch_bytes` at `bytes_per_second` (at least 1) from `start_ns` on.
    #[must_use]
    pub fn new(
        start_ns: u64,
        batch_bytes: u64,
        bytes_per_second: u64,
        connection: u32,
        connections: u32,
    ) -> Self {
        Self {
            start_ns,
            batch_bytes,
            bytes_per_second: bytes_per_second.max(1),
            connection: connection.into(),
            connections: connections.into(),
        }
    }

    /// When the connection's request number `n`, from 0, is meant to go out.
    #[must_use]
    pub fn intended_ns(&self, n: u64) -> u64 {
        let turn = u128::from(n) * u128::from(self.connections) + u128::from(self.connection);
        let bytes_before = turn * u128::from(self.batch_bytes);
        let after_ns = bytes_before * u128::from(SECOND_NS) / u128::from(self.bytes_per_second);
        self.start_ns.saturating_add(u64::try_from(after_ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_take_turns_at_the_rate_of_the_sum() {
        let schedules: Vec<_> =
            (0..4).map(|c| Schedule::new(1_000, 500, 1_000_000, c, 4)).collect();
        let mut all: Vec<u64> =
            schedules.iter().flat_map(|s| (0..3).map(|n| s.intended_ns(n))).collect();
        all.sort_unstable();
        let expected: Vec<u64> = (0..12).map(|turn| 1_000 + turn * 500_000).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn no_rounding_error_grows_over_an_hour() {
        // 3 bytes at 7 bytes/s: 3/7 s each, which no integer of nanoseconds holds.
        let schedule = Schedule::new(0, 3, 7, 0, 1);
        assert_eq!(schedule.intended_ns(8_400), 3_600 * SECOND_NS);
    }
}
