//! Which files may be deleted now.

use tidemill_base::twins::{self, Twin};
use tidemill_base::{AppliedIndex, FileId, TimestampMs};

use crate::state::MetadataState;

/// At most `limit` files that have been unreachable for `grace_ms` *and* whose freeing command is
/// covered by what has been saved (`saved`: the index of the last synced write-behind, or of the
/// last completed backup): only then can no restart bring a reference back.
///
/// Delete them, then propose `ForgetFiles`. Below the low-water mark the caller may pass a shorter
/// grace, as long as fetches that still read the files are done by then.
#[must_use]
pub fn plan(
    state: &MetadataState,
    now: TimestampMs,
    grace_ms: i64,
    saved: AppliedIndex,
    limit: usize,
) -> Vec<FileId> {
    let slots = state.files.garbage.iter();
    let deletable = slots.filter_map(|slot| {
        let (id, file) = state.files.slots.get(*slot)?;
        let freed = file.freed?;
        let graced = now.0.saturating_sub(freed.at.0) >= grace_ms && freed.by <= saved;
        (graced || twins::is_on(Twin::GraceIgnored)).then_some(id)
    });
    deletable.take(limit).collect()
}
