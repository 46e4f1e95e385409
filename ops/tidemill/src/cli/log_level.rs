//! How much is logged.

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;

/// How much is told on standard error.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogLevel {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// Also what is suspicious.
    Warn,
    /// Also what happens once in a while.
    Info,
    /// Also what happens to a connection or a file.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    /// The filter of that level.
    pub(crate) fn filter(self) -> LevelFilter {
        match self {
            Self::Off => LevelFilter::OFF,
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}
