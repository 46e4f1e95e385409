//! From start to ready.

use crate::compare::case::Scenario;
use crate::peers::BrokerKind;
use crate::render::selection::Selection;
use crate::render::table::{Row, number, table};

const FIGURES: [(&str, &str); 5] = [
    ("ready_empty_median_ms", "empty, median of 5"),
    ("ready_empty_max_ms", "empty, slowest of 5"),
    ("ready_after_kill_at_full_rate_ms", "after kill -9, written at full rate"),
    ("ready_after_kill_at_steady_rate_ms", "after kill -9, written at 20 MB/s"),
    ("ready_after_kill_long_history_ms", "after kill -9, ten times the history"),
];

pub(super) fn render(selection: &Selection<'_>) -> String {
    let mut rows: Vec<Row> = Vec::new();
    for case in selection.cases(&[Scenario::StartUp]) {
        for (figure, name) in FIGURES {
            let ms =
                |broker| selection.median(case, broker, |run| run.figures.get(figure).copied());
            let [kafka, tidemill] = [BrokerKind::Kafka, BrokerKind::Tidemill].map(ms);
            rows.push(vec![name.to_owned(), number(kafka, 0), number(tidemill, 0)]);
        }
    }
    table("From start to ready, ms", &["start", "Kafka", "Tidemill"], &rows)
}
