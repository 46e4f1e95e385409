//! What must hold, one invariant per file.
//!
//! Some are checked while the run goes on (see [`crate::history`]); those here look at the end, when
//! the faults are over and the node has healed.

pub mod acknowledged_is_durable;
pub mod bounds_hold;
pub mod exactly_once;
pub mod garbage_goes;
pub mod groups;
pub mod one_history;

use std::collections::BTreeMap;

use crate::history::{Observed, Place, Value};

/// The log as it is at the end: of each place, where it starts and ends, and its records.
#[derive(Debug, Default)]
pub struct FinalLog {
    /// By place.
    pub partitions: BTreeMap<Place, FinalPartition>,
}

/// One partition at the end.
#[derive(Debug, Default)]
pub struct FinalPartition {
    /// Where its log starts.
    pub log_start: i64,
    /// Where it ends.
    pub high_watermark: i64,
    /// Its records, by offset.
    pub records: BTreeMap<i64, Value>,
}

/// Checks a run against its final log. Every violation is told.
#[must_use]
pub fn check(observed: &Observed, log: &FinalLog) -> Vec<String> {
    let mut violations = Vec::new();
    violations.extend(acknowledged_is_durable::check(observed, log));
    violations.extend(one_history::check(observed, log));
    violations.extend(exactly_once::check(log));
    violations.truncate(20);
    violations
}
