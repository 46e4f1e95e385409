//! `cargo xtask soak NAME [OPTIONS]`: long runs by name. So far: kill9.

use std::ffi::OsString;
use std::process::ExitCode;

use tidemill_tests::report::say;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let name = args.next().unwrap_or_default();
    if name == "kill9" {
        let words = ["kill9", "soak"].map(OsString::from);
        return tidemill_tests::kill9::main(words.into_iter().chain(args));
    }
    say("usage: soak kill9 [--rounds N] [--seed S] [--anew]");
    ExitCode::from(2)
}
