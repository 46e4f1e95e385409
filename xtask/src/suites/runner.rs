//! Runs one suite into its log.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::leash::Leash;
use super::outcome::{End, Outcome};
use super::table::Suite;
use crate::workspace::Workspace;

/// Lines of the log that are printed when a suite failed.
const TAIL_LINES: usize = 80;
/// How often a running suite is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Runs `suite`. An error means that it could not be run at all.
pub(crate) fn run(workspace: &Workspace, suite: &Suite) -> Result<Outcome> {
    if let Some(missing) = suite.needs.iter().find(|program| !is_installed(program)) {
        return Ok(Outcome::skipped(suite.name, &format!("{missing} is not installed")));
    }
    let path = log_path(workspace, suite)?;
    let log = File::create(&path).context("create the log")?;
    let start = Instant::now();
    let end = run_commands(workspace.root(), suite, &log, start)?;
    let seconds = start.elapsed().as_secs_f64();
    let output = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
    let outcome = Outcome::judge(suite.name, suite.counts, end, &output, seconds);
    for row in output.lines().filter(|line| line.starts_with("| ")) {
        println!("{row}");
    }
    if outcome.tally.failed > 0 {
        println!("{}", tail(&output, TAIL_LINES));
        println!("== {}: the whole log is target/test-logs/{0}.log", suite.name);
    }
    Ok(outcome)
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn log_path(workspace: &Workspace, suite: &Suite) -> Result<PathBuf> {
    let folder = workspace.root().join("target/test-logs");
    std::fs::create_dir_all(&folder).context("create the folder of logs")?;
    Ok(folder.join(format!("{}.log", suite.name)))
}

fn run_commands(root: &Path, suite: &Suite, log: &File, start: Instant) -> Result<End> {
    let deadline = start + Duration::from_secs(suite.timeout_s);
    for words in suite.commands {
        let Some((program, args)) = words.split_first() else { continue };
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(root)
            .env("TIDEMILL_CACHE", root.join(".cache"))
            .env("CARGO_TERM_COLOR", "never")
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?);
        let (mut child, _leash) = Leash::spawn(&mut command)?;
        match wait_until(&mut child, deadline)? {
            Some(true) => {}
            Some(false) => return Ok(End::Failure),
            None => return Ok(End::TimedOut(suite.timeout_s)),
        }
    }
    Ok(End::Success)
}

/// Whether the child succeeded, or none if the deadline came first.
fn wait_until(child: &mut Child, deadline: Instant) -> Result<Option<bool>> {
    loop {
        if let Some(status) = child.try_wait().context("wait for the suite")? {
            return Ok(Some(status.success()));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

fn tail(output: &str, lines: usize) -> &str {
    let starts = output.trim_end().rmatch_indices('\n').map(|(at, _)| at + 1);
    let start = starts.take(lines).last().filter(|_| output.trim_end().lines().count() > lines);
    &output[start.unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    use super::super::table::Counts;
    use super::super::tally::Tally;
    use super::*;

    fn suite(name: &'static str, commands: &'static [&'static [&'static str]]) -> Suite {
        Suite { name, about: "", needs: &[], commands, counts: Counts::ClosingLine, timeout_s: 60 }
    }

    fn run_here(suite: &Suite) -> Outcome {
        run(&Workspace::find().unwrap(), suite).unwrap()
    }

    #[test]
    fn commands_run_in_order_and_are_counted_from_the_log() {
        let outcome = run_here(&suite(
            "xtask-test-order",
            &[
                &["sh", "-c", "echo 9 passed, 9 failed, 9 skipped"],
                &["sh", "-c", "echo 2 passed, 0 failed, 0 skipped"],
            ],
        ));
        assert_eq!(outcome.tally, Tally { passed: 2, failed: 0, skipped: 0 });
    }

    #[test]
    fn nothing_runs_after_a_command_that_failed() {
        let outcome = run_here(&suite(
            "xtask-test-failure",
            &[&["false"], &["sh", "-c", "echo 2 passed, 0 failed, 0 skipped"]],
        ));
        assert_eq!(outcome.tally, Tally { passed: 0, failed: 1, skipped: 0 });
    }

    #[test]
    fn a_suite_that_hangs_is_ended() {
        let mut hanging = suite("xtask-test-timeout", &[&["sleep", "600"]]);
        hanging.timeout_s = 0;
        assert_eq!(run_here(&hanging).notes, ["FAIL xtask-test-timeout: not done after 0 s"]);
    }

    #[test]
    fn a_suite_without_its_program_is_skipped_with_the_reason() {
        let mut suite = suite("xtask-test-skip", &[&["true"]]);
        suite.needs = &["no-such-program"];
        let outcome = run_here(&suite);
        assert_eq!(outcome.tally, Tally { passed: 0, failed: 0, skipped: 1 });
        assert_eq!(outcome.notes, ["skip xtask-test-skip: no-such-program is not installed"]);
    }

    #[test]
    fn the_tail_is_the_last_lines() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(tail("a\nb\n", 2), "a\nb\n");
        assert_eq!(tail("", 2), "");
    }
}
