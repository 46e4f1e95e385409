//! CPU seconds of the broker per GiB.

use crate::compare::case::{Case, Scenario};
use crate::driver::flow::GIB;
use crate::driver::report::LoadReport;
use crate::render::selection::{Selection, name_of};
use crate::render::table::{Row, mb_per_s, number, ratio, table};
use crate::results::RunResult;

const SCENARIOS: [Scenario; 4] =
    [Scenario::Produce, Scenario::Both, Scenario::Consume, Scenario::Latency];

pub(super) fn render(selection: &Selection<'_>) -> String {
    let cases = selection.cases(&SCENARIOS);
    let rows: Vec<Row> = cases.into_iter().map(|case| row(selection, case)).collect();
    let columns = [
        "case",
        "partitions",
        "batch",
        "Kafka MB/s",
        "Tidemill MB/s",
        "Kafka user + system",
        "Tidemill user + system",
        "Kafka",
        "Tidemill",
        "ratio",
        "at most",
        "driver busy, %",
    ];
    table("Broker CPU seconds per GiB", &columns, &rows)
}

fn row(selection: &Selection<'_>, case: Case) -> Row {
    let rates = selection.both(case, |run| rate(run.load.as_ref()?));
    let user = selection.both(case, |run| per_gib(run, |user, _| user));
    let system = selection.both(case, |run| per_gib(run, |_, system| system));
    let whole = selection.both(case, |run| per_gib(run, |user, system| user + system));
    let busy = selection.both(case, |run| run.load.as_ref().map(|load| load.driver_busy * 100.0));
    let [partitions, batch] = name_of(case);
    let (name, at_most) = match case.scenario {
        Scenario::Produce => ("produce", "0.50"),
        Scenario::Both => ("both at once", "0.50"),
        Scenario::Consume => ("consume", "0.80"),
        _ => ("both at 20 MB/s", "-"),
    };
    vec![
        name.to_owned(),
        partitions,
        batch,
        mb_per_s(rates[0]),
        mb_per_s(rates[1]),
        format!("{} + {}", number(user[0], 2), number(system[0], 2)),
        format!("{} + {}", number(user[1], 2), number(system[1], 2)),
        number(whole[0], 2),
        number(whole[1], 2),
        ratio(whole[1], whole[0]),
        at_most.to_owned(),
        format!("{} / {}", number(busy[0], 0), number(busy[1], 0)),
    ]
}

/// Bytes per second of what a run is about: the backlog where there is only that.
fn rate(load: &LoadReport) -> Option<f64> {
    load.produce.as_ref().or(load.backlog.as_ref()).map(|flow| flow.bytes_per_second)
}

fn per_gib(run: &RunResult, part: impl Fn(f64, f64) -> f64) -> Option<f64> {
    let load = run.load.as_ref()?;
    let flow = load.produce.as_ref().or(load.backlog.as_ref())?;
    let broker = load.broker?;
    let gib = flow.bytes as f64 / GIB;
    (gib > 0.0).then(|| part(broker.user_seconds, broker.system_seconds) / gib)
}
