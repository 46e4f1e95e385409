//! How many tests passed, failed and were skipped, and how that is read from output.

use std::fmt;
use std::ops::AddAssign;

/// Counts of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Ran and passed.
    pub(crate) passed: u64,
    /// Ran and failed, or should have run and did not.
    pub(crate) failed: u64,
    /// Not run, for a reason that was printed.
    pub(crate) skipped: u64,
}

impl Tally {
    /// Whether nothing was counted.
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The sum of all `test result:` lines of cargo.
    pub(crate) fn from_cargo_test(output: &str) -> Self {
        let mut sum = Self::default();
        for line in output.lines().filter_map(|line| line.trim().strip_prefix("test result: ")) {
            for part in line.split([';', '.']) {
                let mut words = part.split_whitespace();
                let (Some(Ok(count)), Some(word)) =
                    (words.next().map(str::parse::<u64>), words.next())
                else {
                    continue;
                };
                match word {
                    "passed" => sum.passed += count,
                    "failed" => sum.failed += count,
                    "ignored" => sum.skipped += count,
                    _ => {}
                }
            }
        }
        sum
    }

    /// The last closing line of a suite.
    pub(crate) fn from_closing_line(output: &str) -> Option<Self> {
        output.lines().rev().find_map(|line| Self::parse(line.trim()))
    }

    /// Reads what `Display` writes.
    fn parse(line: &str) -> Option<Self> {
        let (passed, rest) = line.split_once(" passed, ")?;
        let (failed, rest) = rest.split_once(" failed, ")?;
        let skipped = rest.strip_suffix(" skipped")?;
        Some(Self {
            passed: passed.parse().ok()?,
            failed: failed.parse().ok()?,
            skipped: skipped.parse().ok()?,
        })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_results_are_summed_over_binaries() {
        let output = "running 2 tests\n\
            test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s\n\
            test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s\n";
        assert_eq!(Tally::from_cargo_test(output), Tally { passed: 7, failed: 4, skipped: 1 });
    }

    #[test]
    fn the_last_closing_line_counts() {
        let output = "1 passed, 2 failed, 3 skipped\n3 passed, 0 failed, 1 skipped\nbye\n";
        let expected = Tally { passed: 3, failed: 0, skipped: 1 };
        assert_eq!(Tally::from_closing_line(output), Some(expected));
        assert_eq!(Tally::parse(&expected.to_string()), Some(expected));
    }

    #[test]
    fn other_lines_are_not_closing_lines() {
        for line in
            ["", "all passed, 1 failed, 2 skipped", "1 passed, 2 failed, 3 skipped, 4 flaky"]
        {
            assert_eq!(Tally::from_closing_line(line), None);
        }
    }
}
