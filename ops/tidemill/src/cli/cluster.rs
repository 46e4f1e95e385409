//! `cluster`.

use clap::{Args, Subcommand};

use crate::cli::ConnectionArgs;

/// `tidemill cluster`.
#[derive(Args, Debug)]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
    #[command(subcommand)]
    pub(crate) command: ClusterCommand,
}

/// What can be asked about a cluster.
#[derive(Subcommand, Debug)]
pub(crate) enum ClusterCommand {
    /// Show the cluster's id, brokers, and what it holds.
    #[command(after_help = "Examples:
  tidemill cluster status
  tidemill cluster status --bootstrap 10.0.0.5:9092 --output json")]
    Status,
}
