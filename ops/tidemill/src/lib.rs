//! The tidemill binary: server, command line and demo.
//!
//! It is a library so that its golden files can be tested; nobody imports it otherwise.
//!
//! Read in this order: [`run`], `cli` (what can be typed), `config` (settings), `serve` (a server's
//! life), `commands` (what clients ask), `demo`, `output` (how results are shown).

mod cli;
mod commands;
mod config;
mod demo;
mod failure;
mod http;
mod logging;
mod metrics;
mod output;
mod ports;
pub mod reference;
mod serve;
mod stop_signals;
mod time_text;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command, OutputForm};
use failure::Failure;

/// Does what the command line says and tells the exit code.
#[must_use]
pub fn run() -> ExitCode {
    let command = Cli::parse().command;
    let form = output_form(&command);
    match carry_out(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            tell_failure(&failure, form);
            failure.exit_code()
        }
    }
}

fn carry_out(command: Command) -> Result<(), Failure> {
    match command {
        Command::Dev(args) => serve::dev(args),
        Command::Server(args) => serve::server(args),
        Command::Demo(args) => demo::run(&args),
        Command::Topic(args) => commands::topic(args),
        Command::Group(args) => commands::group(args),
        Command::Produce(args) => commands::produce(args),
        Command::Consume(args) => commands::consume(args),
        Command::Cluster(args) => commands::cluster(args),
    }
}

fn output_form(command: &Command) -> OutputForm {
    match command {
        Command::Dev(_) | Command::Server(_) | Command::Demo(_) => OutputForm::Text,
        Command::Topic(args) => args.connection.output,
        Command::Group(args) => args.connection.output,
        Command::Produce(args) => args.connection.output,
        Command::Consume(args) => args.connection.output,
        Command::Cluster(args) => args.connection.output,
    }
}

fn tell_failure(failure: &Failure, form: OutputForm) {
    use std::io::Write;
    // If standard error is gone, the exit code still tells.
    let _ = writeln!(std::io::stderr(), "{}", failure.shown(form));
}
