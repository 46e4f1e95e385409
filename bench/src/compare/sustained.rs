//! The highest rate that a broker keeps up with by schedule.
//!
//! A closed loop tells about what it can take; then schedules at falling shares of that are tried,
//! each on a fresh broker, until one is kept: what was meant is acknowledged, and nothing is behind at
//! the end. If the first is kept at once, rising shares are tried until one is not. The result is a
//! rate that was kept, never an extrapolation.

use std::collections::BTreeMap;

use crate::compare::case::Case;
use crate::compare::load_cases::{closed_loop, load_of, open_loop};
use crate::compare::stage::{Stage, tell};
use crate::driver::load::{Load, ProduceLoad, Timing};
use crate::driver::report::LoadReport;
use crate::driver::run::run;
use crate::peers::BrokerKind;

/// Shares of the closed loop's rate that are tried while none is kept,
const FALLING: [f64; 8] = [1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4];

/// and, if the first is kept at once, until one is not.
const RISING: [f64; 4] = [1.1, 1.2, 1.35, 1.5];

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
    let mut best = closed;
    for (tried, share) in FALLING.into_iter().enumerate() {
        if let Some(kept) = keep(stage, case, kind, closed_rate * share, &mut figures)? {
            best = kept;
            if tried > 0 {
                break;
            }
            for share in RISING {
                match keep(stage, case, kind, closed_rate * share, &mut figures)? {
                    Some(kept) => best = kept,
                    None => break,
                }
            }
            break;
        }
    }
    Ok((best, figures))
}

/// Tries a rate by schedule; if it is kept, it is the result so far.
fn keep(
    stage: &mut Stage,
    case: Case,
    kind: BrokerKind,
    rate: f64,
    figures: &mut BTreeMap<String, f64>,
) -> anyhow::Result<Option<LoadReport>> {
    let report = probe(stage, case, kind, open_loop(rate as u64))?;
    let is_kept = rate_of(&report) >= rate * KEPT_SHARE_MIN && report.behind_ms <= BEHIND_MS_MAX;
    let verdict = if is_kept { "kept" } else { "not kept" };
    tell(&format!("  {:.1} MB/s by schedule: {verdict}", rate / 1e6));
    if is_kept {
        // What was left over from the warm-up may have made it more than the rate.
        let sustained = rate_of(&report).min(rate);
        figures.insert("sustained_bytes_per_second".to_owned(), sustained);
    }
    Ok(is_kept.then_some(report))
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
