//! A server that is hurt: hostile sockets, hostile batches, crowds, a full disk, and being stopped,
//! while a healthy producer and a healthy consumer must not notice.
//!
//! - Everything hostile gets a clear error code or a closed connection.
//! - After each attack: the server lives, its memory is bounded, and the healthy pair has produced and
//!   consumed meanwhile, without an error (see `pair`).

mod attack;
mod batches;
mod begun_frames;
mod compressed;
mod crowds;
mod drain;
mod frames;
mod full_disk;
mod pair;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};

use crate::report::{Report, say};
use crate::server::ServerPlan;
use crate::workspace;
use attack::Attacked;

/// Hurts a server and checks that others do not notice.
#[derive(Debug, Parser)]
#[command(name = "hurt")]
struct Args {
    /// `ci` for everything, or one part.
    #[arg(value_enum)]
    part: Part,
    /// The server's program [default: tidemill beside this program].
    #[arg(long)]
    server: Option<PathBuf>,
    /// What noise follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Ci,
    Frames,
    Batches,
    Crowds,
    Drain,
    FullDisk,
}

/// Settings that let stalled connections end within the suite.
const SETTINGS: &[&str] = &["kafka.stall_timeout_ms=3000"];

/// The program.
#[must_use]
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut report = Report::default();
    if let Err(error) = run(&Args::parse_from(args), &mut report) {
        report.fail("hurt", format_args!("{error:#}"));
    }
    report.close()
}

fn run(args: &Args, report: &mut Report) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("tidemill-hurt-").tempdir();
    let folder = folder.context("make a folder")?;
    let program = workspace::server(args.server.clone())?;
    let result = run_parts(args, &program, folder.path(), report);
    if result.is_err() || !report.is_good() {
        say(format_args!("data and log are kept in {}", folder.keep().display()));
    }
    result
}

fn run_parts(args: &Args, program: &Path, folder: &Path, report: &mut Report) -> Result<()> {
    let wants = |part| args.part == part || args.part == Part::Ci;
    if wants(Part::Frames) || wants(Part::Batches) || wants(Part::Crowds) {
        let mut plan = ServerPlan::new(program, &folder.join("attacked"))?;
        for setting in SETTINGS {
            plan = plan.set(setting);
        }
        let mut attacked = Attacked::start(&plan)?;
        if wants(Part::Frames) {
            frames::run(&mut attacked, args.seed, report)?;
        }
        if wants(Part::Batches) {
            batches::run(&mut attacked, report)?;
            compressed::run(&mut attacked, report)?;
        }
        if wants(Part::Crowds) {
            begun_frames::run(&mut attacked, report)?;
            crowds::run(&mut attacked, report)?;
        }
        attacked.finish(report);
    }
    if wants(Part::Drain) {
        let plan = ServerPlan::new(program, &folder.join("drained"))?;
        drain::run(&plan, report)?;
    }
    if wants(Part::FullDisk) {
        full_disk::run(program, &folder.join("full"), report)?;
    }
    Ok(())
}
