//! The commands of `cargo xtask`.

use std::ffi::OsString;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::passthrough::{self, Program};
use crate::workspace::Workspace;
use crate::{deps, suites, tidy, verify};

/// Repository checks and test entry points.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check format, lints, layers, tidiness, docs and golden files. Never writes.
    Verify,
    /// Format the code.
    Fix,
    /// Check the edges between crates against the table of layers.
    Deps,
    /// Check files, functions, names, docs and links.
    Tidy,
    /// Run every suite, or some, and print one table.
    Test(suites::TestArgs),
    /// Run the simulation, e.g. `sim --seed 7`.
    Sim(Args),
    /// Run a fuzz target, e.g. `fuzz frame`.
    Fuzz(Args),
    /// Run the benchmarks (release build).
    Bench(Args),
    /// Run a soak by name (release build), e.g. `soak kill9`.
    Soak(Args),
}

/// Arguments handed on as they are.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

impl Cli {
    /// Runs the command. `Ok(false)` means that it ran and found something wrong.
    pub(crate) fn run(self) -> Result<bool> {
        let workspace = Workspace::find()?;
        match self.command {
            Command::Verify => verify::verify(&workspace),
            Command::Fix => verify::fix(&workspace),
            Command::Deps => deps::run(&workspace),
            Command::Tidy => tidy::run(&workspace),
            Command::Test(args) => suites::run(&workspace, &args),
            Command::Sim(Args { args }) => passthrough::run(&workspace, Program::Sim, &args),
            Command::Fuzz(Args { args }) => passthrough::run(&workspace, Program::Fuzz, &args),
            Command::Bench(Args { args }) => passthrough::run(&workspace, Program::Bench, &args),
            Command::Soak(Args { args }) => passthrough::run(&workspace, Program::Soak, &args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_after_a_program_are_handed_on_untouched() {
        let cli = Cli::try_parse_from(["xtask", "sim", "--seed", "7", "--help"]).unwrap();
        let Command::Sim(Args { args }) = cli.command else { panic!("parsed as another command") };
        assert_eq!(args, ["--seed", "7", "--help"]);
    }
}
