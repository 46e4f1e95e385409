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
        let counts = |run: &&&RunResult| {
            run.case == case
                && run.broker == broker
                && run.load.as_ref().is_none_or(|load| load.invalid.is_empty())
        };
        let mut values: Vec<f64> =
            self.runs.iter().filter(counts).filter_map(|run| figure(run)).collect();
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
        let rows: Vec<_> = self
            .runs
            .iter()
            .filter_map(|run| Some((run, run.load.as_ref()?)))
            .filter(|(_, load)| !load.invalid.is_empty())
            .map(|(run, load)| {
                let case = format!("{:?}", run.case.scenario);
                let [partitions, batch] = name_of(run.case);
                let broker = run.broker.name().to_owned();
                vec![case, partitions, batch, broker, load.invalid.join("; ")]
            })
            .collect();
        let columns = ["case", "partitions", "batch", "broker", "why"];
        table("Runs that do not count", &columns, &rows)
    }
}

/// A case's partitions and batches, as two cells.
pub(super) fn name_of(case: Case) -> [String; 2] {
    [case.partitions.to_string(), format!("{} KiB", case.batch_kib)]
}
