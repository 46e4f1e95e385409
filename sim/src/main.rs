//! `tidemill-sim`: runs seeds of the simulation.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tidemill_base::twins::Twin;
use tidemill_sim::run::{Verdict, run};
use tidemill_sim::{suite, twins};

/// Seeds that CI runs.
const CI_SEEDS: u64 = 200;

/// Deterministic simulation of a node under faults.
#[derive(Parser)]
#[command(
    after_help = "Examples:\n  tidemill-sim run --seed 7\n  tidemill-sim run --seed 3 --twin ack-before-sync\n  tidemill-sim ci\n  tidemill-sim soak --seeds 5000 --resume target/sim-soak"
)]
struct Arguments {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Runs one seed and tells what it found.
    Run {
        /// The seed.
        #[arg(long)]
        seed: u64,
        /// A mistake to switch on, by name.
        #[arg(long)]
        twin: Option<String>,
        /// Shows the node's log.
        #[arg(long)]
        verbose: bool,
    },
    /// Runs the seeds of CI, one of them twice, and hunts for every twin.
    Ci {
        /// How many seeds.
        #[arg(long, default_value_t = CI_SEEDS)]
        seeds: u64,
    },
    /// Runs many seeds; may be stopped and resumed.
    Soak {
        /// How many seeds in all.
        #[arg(long, default_value_t = 5_000)]
        seeds: u64,
        /// Where to note how far it got.
        #[arg(long, default_value = "target/sim-soak")]
        resume: PathBuf,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        What::Run { seed, twin, verbose } => one(seed, twin.as_deref(), verbose),
        What::Ci { seeds } => ci(seeds),
        What::Soak { seeds, resume } => soak(seeds, &resume),
    }
}

/// The only place that writes to standard output.
fn say(line: &str) {
    // Nobody reads any more: nothing to be done about it.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn code(ok: bool) -> ExitCode {
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn one(seed: u64, twin: Option<&str>, verbose: bool) -> ExitCode {
    if verbose {
        tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).without_time().init();
    }
    let twin = match twin.map(|name| (name, Twin::named(name))) {
        None => None,
        Some((_, Some(twin))) => Some(twin),
        Some((name, None)) => {
            let names: Vec<&str> = Twin::ALL.iter().map(|twin| twin.name()).collect();
            say(&format!("there is no twin {name:?}; the twins are {}", names.join(", ")));
            return ExitCode::from(2);
        }
    };
    let verdict = run(seed, twin);
    describe(&verdict);
    for (name, times) in verdict.rare_events.counts() {
        say(&format!("  {times:>6}  {name}"));
    }
    code(verdict.violations.is_empty())
}

fn describe(verdict: &Verdict) {
    let Verdict { seed, violations, operations, faults, digest, .. } = verdict;
    say(&format!("seed {seed}: {operations} operations, {faults} faults, trace {digest:016x}"));
    for violation in violations {
        say(&format!("  violated: {violation}"));
    }
    if !violations.is_empty() {
        say(&format!("  replay: cargo xtask sim run --seed {seed}"));
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn ci(seeds: u64) -> ExitCode {
    let summary = suite::many(1, seeds, threads(), |verdict| {
        if !verdict.violations.is_empty() {
            describe(verdict);
        }
        if verdict.seed % 50 == 0 {
            say(&format!("seed {} of {seeds}", verdict.seed));
        }
    });
    say(&format!("| {seeds} seeds: {} operations, {} faults", summary.operations, summary.faults));
    for (name, times) in summary.rare_events.counts() {
        say(&format!("| {times:>9}  {name}"));
    }
    let mut failed = seeds - summary.held;
    for missing in summary.rare_events.missing() {
        say(&format!("| never happened in {seeds} seeds: {missing}"));
        failed += 1;
    }
    let (first, second) = (run(1, None), run(1, None));
    if first.digest != second.digest {
        say("| seed 1 run twice gave two traces");
        failed += 1;
    }
    let caught = suite::hunt_all(twins::CAUGHT, threads());
    for (twin, caught) in twins::CAUGHT.iter().zip(&caught) {
        match caught {
            Some((seed, by)) => say(&format!("| caught {} at seed {seed}: {by}", twin.name())),
            None => {
                say(&format!("| NOT caught within {} seeds: {}", twins::SEEDS_MAX, twin.name()));
                failed += 1;
            }
        }
    }
    let passed = summary.held + 1 + caught.iter().filter(|caught| caught.is_some()).count() as u64;
    say(&format!("{passed} passed, {failed} failed, 0 skipped"));
    code(failed == 0)
}

fn soak(seeds: u64, resume: &PathBuf) -> ExitCode {
    let done: u64 =
        fs::read_to_string(resume).ok().and_then(|t| t.trim().parse().ok()).unwrap_or(0);
    let mut failed = 0;
    let mut from = done;
    while from < seeds {
        let step = 100.min(seeds - from);
        let summary = suite::many(from + 1, step, threads(), |verdict| {
            if !verdict.violations.is_empty() {
                describe(verdict);
            }
        });
        failed += summary.failed.len();
        from += step;
        if let Err(error) = fs::write(resume, from.to_string()) {
            say(&format!("cannot note progress in {}: {error}", resume.display()));
        }
        say(&format!("{from} of {seeds} seeds, {failed} failed"));
    }
    say(&format!("{} passed, {failed} failed, 0 skipped", seeds as usize - failed));
    code(failed == 0)
}
