//! One load on a broker that somebody else started: for profiling, and for brokers without a peer of
//! their own here.

use std::net::SocketAddr;

use clap::Args;

use crate::batch::Batch;
use crate::clock::{SECOND_NS, wall_ms};
use crate::compare::case::Scenario;
use crate::compare::load_cases::{Volumes, closed_loop, open_loop, run_scenario};
use crate::compare::session::tell_load;
use crate::driver::load::{Load, Timing};
use crate::pin::{pin_to, raise_open_files};
use crate::wire::admin::Admin;

/// The options of `load`.
#[derive(Clone, Debug, Args)]
pub struct LoadOptions {
    /// What to do: any scenario but `sustained` and `start-up`.
    #[arg(value_enum)]
    scenario: Scenario,
    /// The broker.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9092")]
    broker: SocketAddr,
    /// Its process, whose CPU and memory are watched.
    #[arg(long)]
    pid: Option<u32>,
    /// Partitions of the topic that is created for the run.
    #[arg(long, default_value_t = 16, value_name = "N")]
    partitions: u32,
    /// KiB of records in a batch.
    #[arg(long, default_value_t = 16, value_name = "KIB")]
    batch_kib: usize,
    /// For `produce` and `both`: MB/s by schedule, instead of as fast as it goes.
    #[arg(long, value_name = "MB")]
    rate_mb_s: Option<u64>,
    /// Warm-up, in seconds.
    #[arg(long, default_value_t = 5, value_name = "S")]
    warm_up_s: u64,
    /// Measured time, in seconds.
    #[arg(long, default_value_t = 15, value_name = "S")]
    measure_s: u64,
    /// MB of backlog, for `consume` and `catch-up`.
    #[arg(long, default_value_t = 1_000, value_name = "MB")]
    backlog_mb: u64,
    /// The driver's core.
    #[arg(long, default_value_t = 1, value_name = "CORE")]
    driver_core: usize,
}

/// Puts the load on the broker; answers the report as JSON.
pub fn load(options: &LoadOptions) -> anyhow::Result<String> {
    raise_open_files()?;
    pin_to(options.driver_core)?;
    let topic = format!("bench-{}", wall_ms());
    Admin::connect(options.broker)?.create_topic(&topic, options.partitions, None)?;
    let load = Load {
        broker: options.broker,
        broker_pid: options.pid,
        topic,
        partitions: options.partitions,
        batch: Batch::build(options.batch_kib * 1024, wall_ms())?,
        produce: None,
        tail: None,
        backlog: None,
        timing: Timing {
            warm_up_ns: options.warm_up_s * SECOND_NS,
            measure_ns: options.measure_s * SECOND_NS,
        },
    };
    let bytes = options.backlog_mb * 1_000_000;
    let volumes = Volumes { consume_bytes: bytes, backlog_bytes: bytes };
    let rate = options.rate_mb_s.map(|rate| open_loop(rate.saturating_mul(1_000_000)));
    let producers = rate.unwrap_or_else(closed_loop);
    let (report, _) = run_scenario(options.scenario, load, volumes, producers)?;
    tell_load(&report);
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}
