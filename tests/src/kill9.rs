//! The kill -9 checker: a server under load is killed at the worst moments, started again on the same
//! data, and every record that was acknowledged must be there, once, in order.
//!
//! - Load: idempotent producers of the client and of our own, a plain one, and a consumer, over several
//!   topics, through all kills. Files and intervals are small, so that files are sealed, state is saved
//!   and the metadata log is cut all the time.
//! - A round: load, a kill (see `moment`), perhaps kills while starting and torn tails, a start, more
//!   load, rest, and an audit of all logs from their first record (see `ledger`).
//! - A soak can be interrupted and goes on where its last audit ended.

mod client_producer;
mod committer;
mod ledger;
mod load;
mod moment;
mod progress;
mod raw_producer;
mod rest;
mod siege;
mod stamp;
mod tail_consumer;
mod torn_tail;
mod whole_log;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};

use crate::report::{Report, say};
use crate::workspace;
use siege::Siege;

/// Kills a server under load and checks what it kept.
#[derive(Debug, Parser)]
#[command(name = "kill9")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A few rounds.
    Ci {
        #[arg(long, default_value_t = 10)]
        rounds: u64,
        #[command(flatten)]
        options: Options,
    },
    /// Many rounds, which go on where they were interrupted.
    Soak {
        #[arg(long, default_value_t = 50)]
        rounds: u64,
        /// Where data and progress are kept.
        #[arg(long)]
        folder: Option<PathBuf>,
        /// Forget an earlier soak.
        #[arg(long)]
        anew: bool,
        #[command(flatten)]
        options: Options,
    },
}

#[derive(Debug, Args)]
struct Options {
    /// The server's program [default: tidemill beside this program].
    #[arg(long)]
    server: Option<PathBuf>,
    /// What moments and load follow from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The program.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run(Cli::parse_from(args).command) {
        Ok(report) => report.close(),
        Err(error) => {
            let mut report = Report::default();
            report.fail("kill9", format_args!("{error:#}"));
            report.close()
        }
    }
}

fn run(command: Command) -> Result<Report> {
    match command {
        Command::Ci { rounds, options } => {
            let folder = tempfile::Builder::new().prefix("tidemill-kill9-").tempdir();
            let folder = folder.context("make a folder")?;
            let program = workspace::server(options.server)?;
            let mut report =
                Siege::begin(&program, &folder.path().join("siege"), options.seed)?.run(rounds)?;
            let forgetful = folder.path().join("forgetful");
            let noticed = Siege::of_forgetful_disk(&program, &forgetful, options.seed);
            report.check("the checker, on a disk that forgets", noticed);
            if !report.is_good() {
                say(format_args!("data and log are kept in {}", folder.keep().display()));
            }
            Ok(report)
        }
        Command::Soak { rounds, folder, anew, options } => {
            let folder = folder.unwrap_or_else(|| workspace::target().join("soak/kill9"));
            if anew && folder.exists() {
                std::fs::remove_dir_all(&folder).context("forget the earlier soak")?;
            }
            let program = workspace::server(options.server)?;
            Siege::begin(&program, &folder, options.seed)?.run(rounds)
        }
    }
}
