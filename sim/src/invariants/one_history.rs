//! P2: one history. Offsets have no holes, what a fetch showed is still so, and records stay in the
//! topic they were written to.

use super::FinalLog;
use crate::history::Observed;

/// Every place where the history is not one.
#[must_use]
pub fn check(observed: &Observed, log: &FinalLog) -> Vec<String> {
    let mut violations = Vec::new();
    for (place, partition) in &log.partitions {
        let expected = partition.log_start..partition.high_watermark;
        for offset in expected.filter(|offset| !partition.records.contains_key(offset)) {
            violations.push(format!("P2: offset {offset} of {place:?} is a hole"));
        }
        for (offset, value) in &partition.records {
            if value.topic != place.0 {
                violations.push(format!("P2: {place:?} holds {value:?} at {offset}"));
            }
        }
    }
    for ((place, offset), value) in &observed.seen {
        let Some(partition) = log.partitions.get(place) else { continue };
        let found = partition.records.get(offset);
        if *offset >= partition.log_start && found != Some(value) {
            violations.push(format!(
                "P2: offset {offset} of {place:?} was shown as {value:?} and is {found:?}"
            ));
        }
    }
    violations
}
