//! `demo`.

use clap::Args;

/// `tidemill demo`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  tidemill demo
  tidemill demo --events 1000000

It starts a server of its own on free loopback ports with data in a temporary folder, removes both at \
the end, and exits with 1 if a single record is lost, doubled or out of order.")]
pub(crate) struct DemoArgs {
    /// How many order events to produce.
    #[arg(
        long,
        default_value_t = 500_000,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1_000..=20_000_000)
    )]
    pub(crate) events: u64,
    /// The seed of the events: the same seed gives the same events.
    #[arg(long, default_value_t = 7, value_name = "N")]
    pub(crate) seed: u64,
    /// Keep the data folder, and say where it is.
    #[arg(long)]
    pub(crate) keep: bool,
}
