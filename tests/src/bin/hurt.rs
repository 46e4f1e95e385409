//! `hurt ci`: hostile input, crowds, stops and a full disk against a real server.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidemill_tests::hurt::main(std::env::args_os())
}
