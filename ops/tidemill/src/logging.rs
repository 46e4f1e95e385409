//! The log: lines on standard error.

use std::io::IsTerminal;

use tracing_subscriber::fmt;

use crate::cli::LogLevel;

/// Begins to log to standard error. Called once, before anything else happens.
pub(crate) fn begin(level: LogLevel) {
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let subscriber = fmt()
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .with_target(false)
        .with_max_level(level.filter())
        .finish();
    // It fails only if a log has begun already, which then goes on.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
