//! From the start of the process to ready: over an empty folder, and after kill -9.

use std::collections::BTreeMap;

use crate::compare::case::Case;
use crate::compare::load_cases::{
    STEADY_BYTES_PER_SECOND, closed_loop, load_of, open_loop, produce_bytes,
};
use crate::compare::stage::{Stage, TOPIC, tell};
use crate::driver::load::{ProduceLoad, Timing};
use crate::peers::BrokerKind;
use crate::wire::admin::Admin;

/// Starts over an empty folder; the median counts.
const EMPTY_STARTS: usize = 5;

/// How much more is written in the run with a long history.
const LONG_HISTORY: u64 = 10;

/// Measures; every figure is in milliseconds.
pub fn measure(
    stage: &mut Stage,
    case: Case,
    kind: BrokerKind,
) -> anyhow::Result<BTreeMap<String, f64>> {
    let mut empty_ms = Vec::new();
    for _ in 0..EMPTY_STARTS {
        let broker = stage.fresh(kind)?;
        empty_ms.push(broker.ready_ms);
        broker.discard()?;
    }
    empty_ms.sort_by(f64::total_cmp);
    let bytes = stage.options.killed_bytes();
    let steady = open_loop(STEADY_BYTES_PER_SECOND);
    let mut figures = BTreeMap::from([
        ("ready_empty_median_ms".to_owned(), empty_ms[EMPTY_STARTS / 2]),
        ("ready_empty_max_ms".to_owned(), empty_ms[EMPTY_STARTS - 1]),
    ]);
    for (name, bytes, produce) in [
        ("ready_after_kill_at_full_rate_ms", bytes, closed_loop()),
        ("ready_after_kill_at_steady_rate_ms", bytes, steady),
        ("ready_after_kill_long_history_ms", bytes * LONG_HISTORY, closed_loop()),
    ] {
        let ready_ms = after_kill(stage, case, kind, bytes, produce)?;
        tell(&format!("  {name}: {ready_ms:.0}"));
        figures.insert(name.to_owned(), ready_ms);
    }
    Ok(figures)
}

/// Writes `bytes`, kills the broker, starts another over its files, which must know all that was
/// acknowledged.
fn after_kill(
    stage: &mut Stage,
    case: Case,
    kind: BrokerKind,
    bytes: u64,
    produce: ProduceLoad,
) -> anyhow::Result<f64> {
    let first = stage.fresh(kind)?;
    let folder = first.folder().to_owned();
    first.stop()?;
    let killed = stage.over(kind, &folder, &stage.options.killed_env)?;
    Admin::connect(killed.address())?.create_topic(TOPIC, case.partitions, None)?;
    let load = load_of(&killed, case, Timing { warm_up_ns: 0, measure_ns: 0 })?;
    let acknowledged = produce_bytes(&load, bytes, produce)?.end_offsets;
    killed.kill()?;
    let restarted = stage.over(kind, &folder, &[])?;
    let ready_ms = restarted.ready_ms;
    let found = Admin::connect(restarted.address())?.end_offsets(TOPIC, case.partitions)?;
    let is_all_there = found.iter().zip(&acknowledged).all(|(found, end)| found >= end);
    anyhow::ensure!(is_all_there, "after the kill {found:?} is left of {acknowledged:?}");
    restarted.discard()?;
    Ok(ready_ms)
}
