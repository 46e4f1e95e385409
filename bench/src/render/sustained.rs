//! The highest rates that were kept up.

use crate::compare::case::Scenario;
use crate::render::selection::{Selection, name_of};
use crate::render::table::{Row, mb_per_s, ratio, table};

pub(super) fn render(selection: &Selection<'_>) -> String {
    let rows: Vec<Row> = selection
        .cases(&[Scenario::Sustained])
        .into_iter()
        .map(|case| {
            let figure = |name: &'static str| {
                selection.both(case, move |run| run.figures.get(name).copied())
            };
            let sustained = figure("sustained_bytes_per_second");
            let closed = figure("closed_loop_bytes_per_second");
            let [partitions, batch] = name_of(case);
            vec![
                partitions,
                batch,
                mb_per_s(sustained[0]),
                mb_per_s(sustained[1]),
                ratio(sustained[1], sustained[0]),
                mb_per_s(closed[0]),
                mb_per_s(closed[1]),
            ]
        })
        .collect();
    let columns = [
        "partitions",
        "batch",
        "Kafka (unsynced) MB/s",
        "Tidemill MB/s",
        "ratio",
        "Kafka closed loop",
        "Tidemill closed loop",
    ];
    table("Highest sustained produce throughput", &columns, &rows)
}
