//! What a suite prints: progress, a line for each check, table rows, the closing line.
//!
//! It keeps to what `cargo xtask test` asks of a suite (xtask/src/suites/table.rs): `skip NAME: REASON`,
//! rows that begin with `| `, and at the end `N passed, N failed, N skipped`.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// Prints a line of progress.
pub fn say(line: impl fmt::Display) {
    // Without anyone to read it there is nobody to tell either.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Counts checks and says each.
#[derive(Debug, Default)]
pub struct Report {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Report {
    /// A check that passed.
    pub fn pass(&mut self, name: impl fmt::Display) {
        self.passed += 1;
        say(format_args!("ok   {name}"));
    }

    /// A check that failed.
    pub fn fail(&mut self, name: impl fmt::Display, why: impl fmt::Display) {
        self.failed += 1;
        say(format_args!("FAIL {name}: {why}"));
    }

    /// A check that could not run.
    pub fn skip(&mut self, name: impl fmt::Display, reason: impl fmt::Display) {
        self.skipped += 1;
        say(format_args!("skip {name}: {reason}"));
    }

    /// A check by its result: what was seen, or what is wrong.
    pub fn check<T: fmt::Display, E: fmt::Display>(
        &mut self,
        name: impl fmt::Display,
        result: Result<T, E>,
    ) {
        match result {
            Ok(seen) => self.pass(format_args!("{name}: {seen}")),
            Err(why) => self.fail(name, format_args!("{why:#}")),
        }
    }

    /// Whether nothing failed so far.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.failed == 0
    }

    /// Prints the closing line. Nothing counted counts as a failure.
    #[must_use]
    pub fn close(self) -> ExitCode {
        say(format_args!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        ));
        match self.failed == 0 && self.passed + self.skipped > 0 {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_good_until_something_fails() {
        let mut report = Report::default();
        report.check("one", Ok::<_, &str>("seen"));
        report.skip("two", "no reason");
        assert!(report.is_good());
        report.check("three", Err::<&str, _>("wrong"));
        assert!(!report.is_good());
        assert_eq!((report.passed, report.failed, report.skipped), (1, 1, 1));
    }
}
