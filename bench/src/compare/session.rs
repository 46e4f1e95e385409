//! One comparison from beginning to end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::clock::wall_ms;
use crate::compare::case::{Case, Scenario};
use crate::compare::options::Options;
use crate::compare::stage::{Stage, tell};
use crate::compare::{load_cases, start_up, sustained};
use crate::driver::report::LoadReport;
use crate::floor::disk::{self, CHUNKS_BYTES, Preparation};
use crate::floor::loopback::{self, Task};
use crate::machine::Machine;
use crate::peers::BrokerKind;
use crate::results::{Results, RunResult, SCHEMA_VERSION};

/// Runs a comparison; answers where its results are.
pub fn compare(options: Options, repository: &Path) -> anyhow::Result<PathBuf> {
    let default_out = repository.join(format!("bench/results/{}.json", wall_ms() / 1000));
    let out = options.out.clone().unwrap_or(default_out);
    let mut stage = Stage::prepare(options, repository)?;
    let mut results = empty_results(&stage, repository);
    if !stage.options.no_floor {
        stage.fill_page_cache()?;
        measure_floors(&stage.options, &mut results)?;
        results.write(&out)?;
    }
    let cases = stage.options.cases();
    for repeat in 0..stage.options.repeats {
        for (turn, case) in (repeat as usize..).zip(&cases) {
            for kind in in_turn(stage.options.brokers(), turn) {
                tell(&format!("{case:?} on {}", kind.name()));
                let run = run_case(&mut stage, *case, kind, repeat)?;
                results.runs.push(run);
                results.write(&out)?;
            }
        }
    }
    Ok(out)
}

/// A run that fails is a result too: the others go on.
fn run_case(
    stage: &mut Stage,
    case: Case,
    broker: BrokerKind,
    repeat: u32,
) -> anyhow::Result<RunResult> {
    let measured = measure(stage, case, broker);
    stage.clear()?;
    let mut run = RunResult {
        case,
        broker,
        repeat,
        load: None,
        figures: BTreeMap::new(),
        memory_free_bytes: Some(stage.free_bytes),
        failure: None,
    };
    match measured {
        Ok((load, figures)) => (run.load, run.figures) = (load, figures),
        Err(error) => run.failure = Some(format!("{error:#}")),
    }
    if let Some(load) = &run.load {
        tell_load(load);
    }
    if let Some(failure) = &run.failure {
        tell(&format!("  FAILED: {failure}"));
    }
    Ok(run)
}

fn empty_results(stage: &Stage, repository: &Path) -> Results {
    let timing = stage.options.timing();
    let kafka_version = stage.kafka.as_ref().map(|kafka| kafka.version.clone());
    Results {
        schema_version: SCHEMA_VERSION,
        started_ms: wall_ms(),
        machine: Machine::describe(repository, kafka_version),
        arguments: std::env::args().skip(1).collect(),
        warm_up_seconds: timing.warm_up_ns as f64 / 1e9,
        measure_seconds: timing.measure_ns as f64 / 1e9,
        disk_floors: Vec::new(),
        cpu_floors: Vec::new(),
        runs: Vec::new(),
    }
}

fn measure(
    stage: &mut Stage,
    case: Case,
    kind: BrokerKind,
) -> anyhow::Result<(Option<LoadReport>, BTreeMap<String, f64>)> {
    match case.scenario {
        Scenario::StartUp => Ok((None, start_up::measure(stage, case, kind)?)),
        Scenario::Sustained => {
            sustained::measure(stage, case, kind).map(|(load, figures)| (Some(load), figures))
        }
        _ => load_cases::measure(stage, case, kind).map(|(load, figures)| (Some(load), figures)),
    }
}

/// The brokers, beginning with another one each turn.
fn in_turn(mut brokers: Vec<BrokerKind>, turn: usize) -> Vec<BrokerKind> {
    let first = turn % brokers.len().max(1);
    brokers.rotate_left(first);
    brokers
}

/// Measures the floors of disk and CPU into `results`.
fn measure_floors(options: &Options, results: &mut Results) -> anyhow::Result<()> {
    let measure_ns = options.floor_ns();
    for preparation in [Preparation::Zeroed, Preparation::Allocated, Preparation::Grown] {
        for chunk_bytes in CHUNKS_BYTES {
            tell(&format!("floor: disk, chunks of {chunk_bytes}, {preparation:?}"));
            let floor = disk::measure(&options.work, chunk_bytes, preparation, measure_ns)?;
            results.disk_floors.push(floor);
        }
    }
    for task in Task::ALL {
        for chunk_bytes in task.chunks_bytes() {
            tell(&format!("floor: CPU, chunks of {chunk_bytes}, {task:?}"));
            let (core, work) = (options.broker_core, &options.work);
            results.cpu_floors.push(loopback::measure(task, chunk_bytes, core, work, measure_ns)?);
        }
    }
    Ok(())
}

/// Tells the main figures of a run.
pub fn tell_load(load: &LoadReport) {
    let flows = [("produce", &load.produce), ("tail", &load.tail), ("backlog", &load.backlog)];
    for (name, flow) in flows {
        if let Some(flow) = flow {
            tell(&format!(
                "  {name}: {:.1} MB/s, p50 {:.2} ms, p99 {:.2} ms",
                flow.bytes_per_second / 1e6,
                flow.latency.p50_ms,
                flow.latency.p99_ms
            ));
        }
    }
    let cpu_seconds = load.broker.map_or(0.0, |broker| broker.cpu_seconds());
    tell(&format!(
        "  broker {cpu_seconds:.1} CPU s in {:.0} s, driver {:.0} % busy{}",
        load.seconds,
        load.driver_busy * 100.0,
        if load.invalid.is_empty() {
            String::new()
        } else {
            format!(", INVALID: {:?}", load.invalid)
        }
    ));
}
