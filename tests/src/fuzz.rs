//! Everything that decodes bytes from outside or from disk, fed with hostile bytes.
//!
//! - A target is a plain function of a crate that must neither panic, hang nor take memory without bound.
//! - Input number n follows from the committed corpus, the seed and n: first the corpus itself, then
//!   mutations of it. So an input needs no storing, and a run can be spread over processes.
//! - Targets run in processes of their own with a limit on their memory: an abort, a stack overflow or a
//!   hang is a finding like a panic. The input is saved under `target/fuzz`.
//!
//! Not here: the targets, and coverage-guided search.

mod campaign;
mod corpus;
mod finding;
pub(crate) mod frames;
mod mutator;
mod shard;
mod target;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;

use crate::report::{Report, say};
use campaign::Campaign;
use corpus::Corpus;
use shard::Shard;
use target::{TARGETS, Target};

/// Feeds decoders with hostile bytes.
#[derive(Debug, Parser)]
struct Args {
    /// `ci` for every target, or one of: frame, batch, log-object, index-object, append-file,
    /// raft-record, command, snapshot.
    target: String,
    /// Inputs for each target, the corpus included.
    #[arg(long, default_value_t = 1_000_000)]
    runs: u64,
    /// A target ends after so many seconds, whatever its runs.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// What all mutations follow from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Processes to spread a target over [default: one for each processor].
    #[arg(long)]
    processes: Option<u64>,
    /// Run this one input and nothing else.
    #[arg(long)]
    input: Option<PathBuf>,
    /// Be one of those processes: INDEX of COUNT.
    #[arg(long, num_args = 2, value_names = ["INDEX", "COUNT"], hide = true)]
    shard: Option<Vec<u64>>,
    /// Where that process notes which run it is at.
    #[arg(long, hide = true)]
    progress: Option<PathBuf>,
}

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            say(format_args!("FAIL fuzz: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<ExitCode> {
    if args.target == "ci" {
        return Ok(run_campaigns(args, TARGETS));
    }
    let Some(target) = TARGETS.iter().find(|target| target.name == args.target) else {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        bail!("there is no target {}; there are: ci, {}", args.target, names.join(", "));
    };
    if let Some(path) = &args.input {
        let input = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
        (target.run)(&input);
        say(format_args!("{} took {} bytes", target.name, input.len()));
        return Ok(ExitCode::SUCCESS);
    }
    if let (Some([index, count]), Some(progress)) = (args.shard.as_deref(), &args.progress) {
        let corpus = Corpus::load(target)?;
        let limit = Duration::from_secs(args.seconds);
        let shard =
            Shard { target, corpus: &corpus, seed: args.seed, index: *index, count: *count };
        say(shard.run(args.runs, limit, progress)?);
        return Ok(ExitCode::SUCCESS);
    }
    Ok(run_campaigns(args, std::slice::from_ref(target)))
}

fn run_campaigns(args: &Args, targets: &'static [Target]) -> ExitCode {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let campaign = Campaign {
        runs: args.runs,
        limit: Duration::from_secs(args.seconds),
        seed: args.seed,
        processes: args.processes.unwrap_or(processors).max(1),
    };
    say(format_args!(
        "seed {}, {} processes, {} runs or {} s for each target",
        args.seed, campaign.processes, args.runs, args.seconds
    ));
    say(campaign::HEAD);
    let mut report = Report::default();
    for target in targets {
        report.check(target.name, campaign.run(target));
    }
    report.close()
}
