//! Finding runs among results, and their medians over repeats.

use std::collections::BTreeSet;

use crate::compare::case::{Case, Scenario};
use crate::peers::BrokerKind;
use crate::render::table::table;
use crate::results::{Results, RunResult};

/// The runs of some results.
pub(super) struct Selection<'a> {
    runs: Vec<&'a RunResult>,
}

impl<'a> Selection<'a> {
    /// All runs of `results`.
    pub(super) fn new(results: &'a [Results]) -> Self {
        Self { runs: results.iter().flat_map(|result| &result.runs).collect() }
    }

    /// The cases that were run, in order.
    pub(super) fn cases(&self, scenarios: &[Scenario]) -> Vec<Case> {
        let cases: BTreeSet<Case> = self.runs.iter().map(|run| run.case).collect();
        cases.into_iter().filter(|case| scenarios.contains(&case.scenario)).collect()
    }

    /// The median of a figure over the valid runs of a case on a broker.
    pub(super) fn median(
        &self,
        case: Case,
        broker: BrokerKind,
        figure: impl Fn(&RunResult) -> Option<f64>,
    ) -> Option<f64> {
        let is_valid =
            |run: &RunResult| run.load.as_ref().is_none_or(|load| load.invalid.is_empty());
        self.median_of_all(case, broker, |run| is_valid(run).then(|| figure(run)).flatten())
    }

    /// The same over all runs: for memory, which counts whether or not the broker kept up.
    pub(super) fn median_of_all(
        &self,
        case: Case,
        broker: BrokerKind,
        figure: impl Fn(&RunResult) -> Option<f64>,
    ) -> Option<f64> {
        let runs = self.runs.iter().filter(|run| run.case == case && run.broker == broker);
        let mut values: Vec<f64> = runs.filter_map(|run| figure(run)).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len().checked_sub(1)? / 2).copied()
    }

    /// The same figure for Kafka and for Tidemill.
    pub(super) fn both(
        &self,
        case: Case,
        figure: impl Fn(&RunResult) -> Option<f64>,
    ) -> [Option<f64>; 2] {
        [BrokerKind::Kafka, BrokerKind::Tidemill].map(|broker| self.median(case, broker, &figure))
    }

    /// Why runs do not count.
    pub(super) fn invalid_runs(&self) -> String {
        let why_of = |run: &RunResult| -> Option<String> {
            if run.failure.is_some() {
                return run.failure.clone();
            }
            let invalid = &run.load.as_ref()?.invalid;
            (!invalid.is_empty()).then(|| invalid.join("; "))
        };
        let row_of = |run: &&RunResult| {
            let why = why_of(run)?;
            let case = format!("{:?}", run.case.scenario);
            let [partitions, batch] = name_of(run.case);
            Some(vec![case, partitions, batch, run.broker.name().to_owned(), why])
        };
        let rows: Vec<_> = self.runs.iter().filter_map(row_of).collect();
        let columns = ["case", "partitions", "batch", "broker", "why"];
        table("Runs that do not count", &columns, &rows)
    }
}

/// A case's partitions and batches, as two cells.
pub(super) fn name_of(case: Case) -> [String; 2] {
    [case.partitions.to_string(), format!("{} KiB", case.batch_kib)]
}
