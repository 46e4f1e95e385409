//! P1: what was acknowledged is there, at the offset that was told, unless records below a later log
//! start were deleted.

use super::FinalLog;
use crate::history::Observed;

/// Every acknowledged record that is missing.
#[must_use]
pub fn check(observed: &Observed, log: &FinalLog) -> Vec<String> {
    let mut violations = Vec::new();
    for ((place, offset), value) in &observed.acked {
        let Some(partition) = log.partitions.get(place) else { continue };
        if *offset < partition.log_start {
            continue;
        }
        match partition.records.get(offset) {
            Some(found) if found == value => {}
            Some(found) => violations.push(format!(
                "P1: offset {offset} of {place:?} was acknowledged as {value:?} and holds {found:?}"
            )),
            None => violations
                .push(format!("P1: offset {offset} of {place:?} was acknowledged and is gone")),
        }
    }
    violations
}
