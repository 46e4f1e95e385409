//! P4: a record is there at most once, and those of an idempotent producer in the order they were sent.
//!
//! The plain producers of the simulation never send a record again, so that whatever is there twice
//! was doubled by the node.

use std::collections::{BTreeMap, BTreeSet};

use super::FinalLog;

/// Every record that is there twice, or out of order.
#[must_use]
pub fn check(log: &FinalLog) -> Vec<String> {
    let mut violations = Vec::new();
    for (place, partition) in &log.partitions {
        let mut there = BTreeSet::new();
        for (offset, value) in &partition.records {
            if !there.insert(*value) {
                violations.push(format!("P4: {place:?} holds {value:?} again at {offset}"));
            }
        }
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
