//! The table, the notes below it, and the closing line.

use std::fmt::Write;

use super::outcome::Outcome;
use super::tally::Tally;

/// Renders the report. Its last line is the closing line.
pub(crate) fn render(outcomes: &[Outcome]) -> String {
    let width = outcomes.iter().map(|outcome| outcome.name.len()).max().unwrap_or(0).max(5);
    let mut text = format!(
        "{:<width$} {:>7} {:>7} {:>7} {:>9}\n",
        "suite", "passed", "failed", "skipped", "seconds"
    );
    let mut sum = Tally::default();
    for Outcome { name, tally, seconds, .. } in outcomes {
        sum += *tally;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{name:<width$} {:>7} {:>7} {:>7} {seconds:>9.1}",
            tally.passed, tally.failed, tally.skipped
        );
    }
    for note in outcomes.iter().flat_map(|outcome| &outcome.notes) {
        let _ = writeln!(text, "{note}");
    }
    text + &sum.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_ends_with_the_sum() {
        let verify = Outcome {
            name: "verify",
            tally: Tally { passed: 6, failed: 0, skipped: 0 },
            seconds: 12.34,
            notes: Vec::new(),
        };
        let report = render(&[verify, Outcome::skipped("clients", "python3 is not installed")]);
        let expected = "suite    passed  failed skipped   seconds\n\
                        verify        6       0       0      12.3\n\
                        clients       0       0       1       0.0\n\
                        skip clients: python3 is not installed\n\
                        6 passed, 0 failed, 1 skipped";
        assert_eq!(report, expected);
    }
}
