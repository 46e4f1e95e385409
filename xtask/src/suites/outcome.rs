//! What came of one suite, judged from its exit, its output and its time.

use super::table::Counts;
use super::tally::Tally;

/// One row of the report.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The suite.
    pub(crate) name: &'static str,
    /// What was counted.
    pub(crate) tally: Tally,
    /// How long it took.
    pub(crate) seconds: f64,
    /// Reasons of skips and of a failure that the counts do not show.
    pub(crate) notes: Vec<String>,
}

/// How the suite's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Exit code 0.
    Success,
    /// Any other exit.
    Failure,
    /// The time limit was reached after so many seconds.
    TimedOut(u64),
}

impl Outcome {
    /// A suite that was not run at all.
    pub(crate) fn skipped(name: &'static str, reason: &str) -> Self {
        let tally = Tally { skipped: 1, ..Tally::default() };
        Self { name, tally, seconds: 0.0, notes: vec![format!("skip {name}: {reason}")] }
    }

    /// Judges a suite that ran. A bad end always counts as a failure, whatever was printed, and a
    /// suite that counted nothing has not passed.
    pub(crate) fn judge(
        name: &'static str,
        counts: Counts,
        end: End,
        output: &str,
        seconds: f64,
    ) -> Self {
        let counted = match counts {
            Counts::CargoTest => Tally::from_cargo_test(output),
            Counts::ClosingLine => Tally::from_closing_line(output).unwrap_or_default(),
        };
        let mut tally = counted;
        let mut notes: Vec<String> =
            output.lines().filter(|line| line.starts_with("skip ")).map(str::to_owned).collect();
        match end {
            End::TimedOut(limit_s) => {
                tally.failed += 1;
                notes.push(format!("FAIL {name}: not done after {limit_s} s"));
            }
            End::Failure if tally.failed == 0 => {
                tally.failed = 1;
                notes.push(format!("FAIL {name}: it ended badly, see its log"));
            }
            End::Success if counted.is_empty() => {
                tally.failed = 1;
                notes.push(format!("FAIL {name}: it ended well but counted nothing"));
            }
            End::Failure | End::Success => {}
        }
        Self { name, tally, seconds, notes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(end: End, output: &str) -> Outcome {
        Outcome::judge("s", Counts::ClosingLine, end, output, 1.0)
    }

    #[test]
    fn a_good_end_counts_as_printed_and_keeps_the_skips() {
        let outcome =
            judged(End::Success, "skip java: not installed\n4 passed, 0 failed, 1 skipped");
        assert_eq!(outcome.tally, Tally { passed: 4, failed: 0, skipped: 1 });
        assert_eq!(outcome.notes, ["skip java: not installed"]);
    }

    #[test]
    fn a_bad_end_fails_even_if_no_failure_was_printed() {
        assert_eq!(judged(End::Failure, "4 passed, 0 failed, 0 skipped").tally.failed, 1);
        assert_eq!(judged(End::Failure, "").tally.failed, 1);
        assert_eq!(judged(End::Failure, "4 passed, 3 failed, 0 skipped").tally.failed, 3);
    }

    #[test]
    fn a_timeout_fails() {
        let outcome = judged(End::TimedOut(60), "4 passed, 0 failed, 0 skipped");
        assert_eq!(outcome.tally.failed, 1);
        assert_eq!(outcome.notes, ["FAIL s: not done after 60 s"]);
    }

    #[test]
    fn a_suite_that_counted_nothing_has_not_passed() {
        assert_eq!(judged(End::Success, "").tally.failed, 1);
    }
}
