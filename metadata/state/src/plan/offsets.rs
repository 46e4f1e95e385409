//! Which groups have offsets that expired.

use tidemill_base::TimestampMs;

use crate::state::MetadataState;

/// How long offsets are kept unless `offsets.retention.minutes` says: 7 days.
pub const RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// At most `limit` groups for one `ExpireOffsets` with the same `retention_ms`: without members,
/// and with offsets that have expired or nothing left at all.
#[must_use]
pub fn expired(
    state: &MetadataState,
    now: TimestampMs,
    retention_ms: i64,
    limit: usize,
) -> Vec<String> {
    let groups = state.groups().filter(|(_, group)| {
        group.is_spent(now, retention_ms)
            || group.offsets.values().any(|offset| group.has_expired(offset, now, retention_ms))
    });
    groups.take(limit).map(|(name, _)| name.to_owned()).collect()
}
