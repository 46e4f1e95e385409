//! The runs that are one load, or one after a preload.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};

use anyhow::Context;

use crate::batch::Batch;
use crate::clock::{SECOND_NS, wall_ms};
use crate::compare::case::{Case, Scenario};
use crate::compare::stage::{Stage, TOPIC};
use crate::driver::load::{BacklogLoad, FetchLoad, Load, Pacing, ProduceLoad, TailLoad, Timing};
use crate::driver::report::LoadReport;
use crate::driver::run::run;
use crate::peers::{Broker, BrokerKind};
use crate::wire::admin::Admin;

/// The rate of latency and memory runs: 20 MB/s.
pub const STEADY_BYTES_PER_SECOND: u64 = 20_000_000;

/// Producer connections, and requests in flight on each.
const PRODUCERS: u32 = 16;
const IN_FLIGHT_MAX: usize = 5;

/// Connections of consumers that follow, or that read a backlog.
const CONSUMERS: u32 = 16;

/// Connections of consumers that catch up beside a tail.
const CATCH_UP_CONSUMERS: u32 = 4;

/// Connections that do nothing.
const IDLE_CONNECTIONS: usize = 10_000;

/// In a closed loop, how far consumers may fall behind before producers wait for them.
const LAG_BYTES_MAX: u64 = 64 << 20;

/// A preload that takes longer than this is given up.
const PRELOAD_NS_MAX: u64 = 3_600 * SECOND_NS;

const FETCH: FetchLoad = FetchLoad { connections: CONSUMERS, bytes_max: 1 << 20, wait_ms_max: 500 };

/// How much is there before consumers of a backlog begin.
#[derive(Clone, Copy, Debug)]
pub struct Volumes {
    /// In a run of such consumers alone, in bytes.
    pub consume_bytes: u64,
    /// Beside a tail, in bytes.
    pub backlog_bytes: u64,
}

/// Runs a case on a fresh broker.
pub fn measure(
    stage: &mut Stage,
    case: Case,
    kind: BrokerKind,
) -> anyhow::Result<(LoadReport, BTreeMap<String, f64>)> {
    let broker = stage.fresh_with_topic(kind, case.partitions)?;
    let load = load_of(&broker, case, stage.options.timing())?;
    let (volumes, producers) = (stage.options.volumes(), stage.options.produce_load());
    let measured = run_scenario(case.scenario, load, volumes, producers);
    let measured = measured.with_context(|| format!("{case:?} on {}", kind.name()))?;
    broker.discard()?;
    Ok(measured)
}

/// Runs a scenario on a topic without records; `load` says where and how long, `producers` what is
/// produced where nothing else is the point.
pub fn run_scenario(
    scenario: Scenario,
    load: Load,
    volumes: Volumes,
    producers: ProduceLoad,
) -> anyhow::Result<(LoadReport, BTreeMap<String, f64>)> {
    let mut figures = BTreeMap::new();
    let report = match scenario {
        Scenario::Produce => run(&Load { produce: Some(producers), ..load }),
        Scenario::Both => {
            let produce = ProduceLoad { lag_bytes_max: Some(LAG_BYTES_MAX), ..producers };
            run(&Load { produce: Some(produce), tail: Some(tail_from(Vec::new())), ..load })
        }
        Scenario::Consume => {
            let backlog = preload(&load, volumes.consume_bytes, FETCH)?;
            run(&Load { backlog: Some(backlog), ..load })
        }
        Scenario::Latency | Scenario::Memory => run(&steady(load, Vec::new())),
        Scenario::Idle => {
            let idle = idle_connections(load.broker)?;
            figures.insert("idle_connections".to_owned(), idle.len() as f64);
            run(&steady(load, Vec::new()))
        }
        Scenario::CatchUp => {
            let fetch = FetchLoad { connections: CATCH_UP_CONSUMERS, ..FETCH };
            let backlog = preload(&load, volumes.backlog_bytes, fetch)?;
            let from_offsets = backlog.end_offsets.clone();
            run(&Load { backlog: Some(backlog), ..steady(load, from_offsets) })
        }
        Scenario::Sustained | Scenario::StartUp => anyhow::bail!("not a case of one load"),
    };
    Ok((report?, figures))
}

/// A load of nothing yet on a broker's topic.
pub fn load_of(broker: &Broker, case: Case, timing: Timing) -> anyhow::Result<Load> {
    Ok(Load {
        broker: broker.address(),
        broker_pid: Some(broker.pid()),
        topic: TOPIC.to_owned(),
        partitions: case.partitions,
        batch: Batch::build(case.batch_kib as usize * 1024, wall_ms())?,
        produce: None,
        tail: None,
        backlog: None,
        timing,
    })
}

/// Producers that send whenever their windows have room.
#[must_use]
pub fn closed_loop() -> ProduceLoad {
    ProduceLoad {
        connections: PRODUCERS,
        in_flight_max: IN_FLIGHT_MAX,
        pacing: Pacing::ClosedLoop,
        lag_bytes_max: None,
        stop_after_bytes: None,
    }
}

/// Producers that send by a schedule.
#[must_use]
pub fn open_loop(bytes_per_second: u64) -> ProduceLoad {
    ProduceLoad { pacing: Pacing::OpenLoop { bytes_per_second }, ..closed_loop() }
}

/// A load at the steady rate with consumers that follow from `from_offsets` on.
fn steady(load: Load, from_offsets: Vec<i64>) -> Load {
    let produce = Some(open_loop(STEADY_BYTES_PER_SECOND));
    Load { produce, tail: Some(tail_from(from_offsets)), ..load }
}

fn tail_from(from_offsets: Vec<i64>) -> TailLoad {
    TailLoad { fetch: FETCH, from_offsets }
}

/// Produces `bytes` as fast as the broker takes them.
pub fn produce_bytes(load: &Load, bytes: u64, produce: ProduceLoad) -> anyhow::Result<LoadReport> {
    let produce = ProduceLoad { stop_after_bytes: Some(bytes), ..produce };
    let timing = Timing { warm_up_ns: 0, measure_ns: PRELOAD_NS_MAX };
    let report = run(&Load { produce: Some(produce), timing, ..load.clone() })?;
    anyhow::ensure!(report.errors.is_empty(), "errors while preloading: {:?}", report.errors);
    Ok(report)
}

/// Produces a backlog, and describes those who will read it.
fn preload(load: &Load, bytes: u64, fetch: FetchLoad) -> anyhow::Result<BacklogLoad> {
    let report = produce_bytes(load, bytes, closed_loop()).context("preload")?;
    // Its pages are written out before anything is measured.
    rustix::fs::sync();
    Ok(BacklogLoad { fetch, end_offsets: report.end_offsets })
}

/// Opens connections that will do nothing after one ApiVersions each.
fn idle_connections(broker: SocketAddr) -> anyhow::Result<Vec<TcpStream>> {
    (0..IDLE_CONNECTIONS)
        .map(|_| {
            let mut admin = Admin::connect(broker)?;
            admin.api_versions()?;
            Ok(admin.into_stream())
        })
        .collect::<anyhow::Result<Vec<_>>>()
        .context("open idle connections")
}
