//! Repository checks and the entry points of every test, benchmark and soak run.
//!
//! `verify` never writes, `fix` does, `test` runs everything that has to pass. What is checked is data
//! (`deps/layers.rs`, `suites/table.rs`, `tidy-allow.toml`); what checks it is pure and has its own tests.
//!
//! Not here: the suites themselves. They are programs of `sim`, `tests` and `bench`.

#![expect(clippy::print_stdout, reason = "a command line tool speaks on standard output")]

mod cli;
mod deps;
mod passthrough;
mod rust_source;
mod suites;
mod tidy;
mod verify;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
