//! `cargo xtask fuzz ci` or `cargo xtask fuzz TARGET`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidemill_tests::fuzz::main()
}
