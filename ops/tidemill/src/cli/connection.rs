//! Options of every command that talks to a cluster.

use clap::{Args, ValueEnum};

use crate::cli::LogLevel;

/// How to reach a cluster and how to show what it says.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Connection and output")]
pub(crate) struct ConnectionArgs {
    /// A broker's address; the rest of the cluster is found through it.
    #[arg(
        long,
        global = true,
        env = "TIDEMILL_BOOTSTRAP",
        hide_env_values = true,
        default_value = "127.0.0.1:9092",
        value_name = "HOST:PORT"
    )]
    pub(crate) bootstrap: String,
    /// How to print results: text for people, json for scripts.
    #[arg(long, global = true, value_enum, default_value_t = OutputForm::Text, value_name = "FORM")]
    pub(crate) output: OutputForm,
    /// How long the cluster may take to answer, in milliseconds.
    #[arg(
        long,
        global = true,
        default_value_t = 15_000,
        value_name = "MS",
        value_parser = clap::value_parser!(u64).range(1..=3_600_000)
    )]
    pub(crate) timeout_ms: u64,
    /// How much the client tells on standard error.
    #[arg(long, global = true, value_enum, default_value_t = LogLevel::Error, value_name = "LEVEL")]
    pub(crate) log: LogLevel,
}

/// How results are printed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OutputForm {
    /// Tables and sentences.
    Text,
    /// JSON with snake_case fields and a `schema_version`.
    Json,
}
