//! Resident memory under load.

use crate::compare::case::Scenario;
use crate::driver::report::ProcessUse;
use crate::peers::BrokerKind;
use crate::render::selection::Selection;
use crate::render::table::{Row, mb_per_s, mib, table};

pub(super) fn render(selection: &Selection<'_>) -> String {
    let rows: Vec<Row> = selection
        .cases(&[Scenario::Memory, Scenario::Idle, Scenario::CatchUp])
        .into_iter()
        .map(|case| {
            let figure = |pick: fn(ProcessUse) -> u64| {
                [BrokerKind::Kafka, BrokerKind::Tidemill].map(|broker| {
                    selection.median_of_all(case, broker, |run| {
                        Some(pick(run.load.as_ref()?.broker?) as f64)
                    })
                })
            };
            let resident = figure(|broker| broker.resident_bytes_max);
            let peak = figure(|broker| broker.peak_bytes);
            let backlog = selection
                .both(case, |run| Some(run.load.as_ref()?.backlog.as_ref()?.bytes_per_second));
            let name = match case.scenario {
                Scenario::Idle => "10,000 idle connections",
                Scenario::CatchUp => "a backlog is read",
                _ => "20 MB/s",
            };
            vec![
                name.to_owned(),
                case.partitions.to_string(),
                mib(resident[0]),
                mib(resident[1]),
                mib(peak[0]),
                mib(peak[1]),
                format!("{} / {}", mb_per_s(backlog[0]), mb_per_s(backlog[1])),
            ]
        })
        .collect();
    let columns = [
        "while",
        "partitions",
        "Kafka",
        "Tidemill",
        "Kafka since start",
        "Tidemill since start",
        "backlog MB/s",
    ];
    table("Most resident memory, MiB", &columns, &rows)
}
