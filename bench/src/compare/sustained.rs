//! The highest rate that a broker keeps up with by schedule.
//!
//! A closed loop tells what it can take at most; then schedules at falling shares of that are tried,
//! each on a fresh broker, until one is kept: what was meant is acknowledged, and nothing is behind at
//! the end. The result is the first rate kept, so it is found from above and never extrapolated.

use std::collections::BTreeMap;

use crate::compare::case::Case;
use crate::compare::load_cases::{closed_loop, load_of, open_loop};
use crate::compare::stage::{Stage, tell};
use crate::driver::load::{Load, ProduceLoad, Timing};
use crate::driver::report::LoadReport;
use crate::driver::run::run;
use crate::peers::BrokerKind;

/// Shares of the closed loop's rate that are tried.
const SHARES: [f64; 8] = [1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4];

/// A rate is kept if at least this share of it was acknowledged in the window,
const KEPT_SHARE_MIN: f64 = 0.99;

/// and if the schedule was at most this far behind when it ended.
const BEHIND_MS_MAX: f64 = 1_000.0;

/// Searches; answers the report of the run that was kept, and the rates.
pub fn measure(
    stage: &mut Stage,
    case: Case,
    kind: BrokerKind,
) -> anyhow::Result<(LoadReport, BTreeMap<String, f64>)> {
    let closed = probe(stage, case, kind, closed_loop())?;
    let closed_rate = rate_of(&closed);
    let mut figures = BTreeMap::from([("closed_loop_bytes_per_second".to_owned(), closed_rate)]);
    let mut last = closed;
    for share in SHARES {
        let rate = closed_rate * share;
        last = probe(stage, case, kind, open_loop(rate as u64))?;
        let is_kept = rate_of(&last) >= rate * KEPT_SHARE_MIN && last.behind_ms <= BEHIND_MS_MAX;
        let verdict = if is_kept { "kept" } else { "not kept" };
        tell(&format!("  {:.1} MB/s by schedule: {verdict}", rate / 1e6));
        if is_kept {
            figures.insert("sustained_bytes_per_second".to_owned(), rate_of(&last));
            break;
        }
    }
    Ok((last, figures))
}

/// One run of half the usual length on a fresh broker.
fn probe(
    stage: &mut Stage,
    case: Case,
    kind: BrokerKind,
    produce: ProduceLoad,
) -> anyhow::Result<LoadReport> {
    let Timing { warm_up_ns, measure_ns } = stage.options.timing();
    let timing = Timing { warm_up_ns: warm_up_ns / 2, measure_ns: measure_ns / 2 };
    let broker = stage.fresh_with_topic(kind, case.partitions)?;
    let report = run(&Load { produce: Some(produce), ..load_of(&broker, case, timing)? })?;
    broker.discard()?;
    Ok(report)
}

fn rate_of(report: &LoadReport) -> f64 {
    report.produce.as_ref().map_or(0.0, |produce| produce.bytes_per_second)
}
