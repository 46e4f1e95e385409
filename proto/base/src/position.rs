//! Positions and times: where a thing is in an order, with its unit in the type.

use std::fmt;

use crate::ids::id;

id! {
    /// A record's place in its partition, from 0.
    Offset(i64)
}
id! {
    /// The epoch of a partition's named broker, from 0. Kafka's -1 ("unknown") is never wrapped.
    LeaderEpoch(i32)
}
id! {
    /// Milliseconds since 1970-01-01 UTC, as Kafka counts them.
    TimestampMs(i64)
}
id! {
    /// Kafka's sequence of a producer's record within a partition: 0 to `i32::MAX`, then 0 again.
    BaseSequence(i32)
}
id! {
    /// The index of the last metadata log entry that a state or a projection covers.
    AppliedIndex(u64)
}

impl Offset {
    /// The offset `records` further on.
    #[must_use]
    pub fn plus(self, records: u32) -> Self {
        Self(self.0 + i64::from(records))
    }
}

impl BaseSequence {
    /// The sequence `records` further on, wrapping after `i32::MAX` to 0 as Kafka does.
    #[must_use]
    pub fn plus(self, records: u32) -> Self {
        Self(((i64::from(self.0) + i64::from(records)) % (i64::from(i32::MAX) + 1)) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_wrap_to_zero_after_the_largest() {
        assert_eq!(BaseSequence(i32::MAX).plus(1), BaseSequence(0));
        assert_eq!(BaseSequence(i32::MAX - 1).plus(3), BaseSequence(1));
    }
}
