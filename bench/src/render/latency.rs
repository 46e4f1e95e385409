//! Latencies at 20 MB/s, from intended times.

use crate::compare::case::{Case, Scenario};
use crate::driver::flow::FlowReport;
use crate::driver::report::LoadReport;
use crate::peers::BrokerKind;
use crate::render::selection::{Selection, name_of};
use crate::render::table::{Row, number, table};

pub(super) fn render(selection: &Selection<'_>) -> String {
    let mut rows: Vec<Row> = Vec::new();
    for case in selection.cases(&[Scenario::Latency, Scenario::CatchUp]) {
        for broker in [BrokerKind::Kafka, BrokerKind::Tidemill] {
            for (name, flow) in FLOWS {
                rows.extend(row(selection, case, broker, name, flow));
            }
        }
    }
    let columns =
        ["case", "partitions", "batch", "broker", "what", "p50", "p90", "p99", "p99.9", "max"];
    table("Latency at 20 MB/s, ms", &columns, &rows)
}

type FlowOf = fn(&LoadReport) -> Option<&FlowReport>;

const FLOWS: [(&str, FlowOf); 2] =
    [("produce", |load| load.produce.as_ref()), ("end to end", |load| load.tail.as_ref())];

fn row(
    selection: &Selection<'_>,
    case: Case,
    broker: BrokerKind,
    name: &str,
    flow: FlowOf,
) -> Option<Row> {
    let figure = |pick: fn(&FlowReport) -> f64| {
        selection.median(case, broker, |run| run.load.as_ref().and_then(flow).map(pick))
    };
    let p50 = figure(|flow| flow.latency.p50_ms);
    p50?;
    let [partitions, batch] = name_of(case);
    let beside = if case.scenario == Scenario::CatchUp { "beside a catch-up" } else { "by itself" };
    Some(vec![
        beside.to_owned(),
        partitions,
        batch,
        broker.name().to_owned(),
        name.to_owned(),
        number(p50, 2),
        number(figure(|flow| flow.latency.p90_ms), 2),
        number(figure(|flow| flow.latency.p99_ms), 2),
        number(figure(|flow| flow.latency.p999_ms), 2),
        number(figure(|flow| flow.latency.max_ms), 1),
    ])
}
