//! P4: a record of an idempotent producer is there at most once, and in the order it was sent.

use std::collections::BTreeMap;

use super::FinalLog;

/// Every record of an idempotent producer that is there twice or out of order.
#[must_use]
pub fn check(log: &FinalLog) -> Vec<String> {
    let mut violations = Vec::new();
    for (place, partition) in &log.partitions {
        let mut last: BTreeMap<u32, (u64, i64)> = BTreeMap::new();
        for (offset, value) in partition.records.iter().filter(|(_, value)| value.idempotent) {
            let before = last.insert(value.producer, (value.number, *offset));
            if let Some((number, at)) = before
                && number >= value.number
            {
                violations.push(format!(
                    "P4: {place:?} holds record {number} of producer {} at {at} and {} at {offset}",
                    value.producer, value.number
                ));
            }
        }
    }
    violations
}
