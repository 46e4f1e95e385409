//! `kill9 ci`: a few rounds. `cargo xtask soak kill9`: fifty.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidemill_tests::kill9::main(std::env::args_os())
}
