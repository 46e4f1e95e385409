//! P7: everything is bounded. Sampled while the run goes on.

use std::sync::atomic::Ordering;

use crate::world::lives::Life;

/// Every bound that does not hold now.
#[must_use]
pub fn check(life: &Life) -> Vec<String> {
    let node = &life.node;
    let counters = node.counters();
    let mut violations = Vec::new();
    let cache = &counters.cache;
    if cache.held_bytes() > cache.budget_bytes() {
        violations.push(format!("P7: the hot cache holds {} bytes", cache.held_bytes()));
    }
    if node.request_memory().held() > node.request_memory().total() {
        violations.push("P7: requests hold more memory than there is".to_owned());
    }
    let out_of_step = counters.writer.out_of_step.load(Ordering::Relaxed);
    if out_of_step > 0 {
        violations
            .push("P2: the metadata is past a proposal of a lane without its skip".to_owned());
    }
    violations
}
