//! Tables from a small set of results.

use std::collections::BTreeMap;

use super::*;
use crate::compare::case::{Case, Scenario};
use crate::driver::flow::FlowReport;
use crate::driver::report::{LoadReport, ProcessUse};
use crate::machine::Machine;
use crate::peers::BrokerKind;
use crate::results::{RunResult, SCHEMA_VERSION};

fn results(runs: Vec<RunResult>) -> Results {
    let machine = Machine {
        cpu: "a CPU".to_owned(),
        cores: 2,
        memory_bytes: 24 << 30,
        kernel: "6".to_owned(),
        commit: "0123456789abcdef".to_owned(),
        dirty: false,
        kafka_version: Some("4.4.0".to_owned()),
        java_version: Some("openjdk 17".to_owned()),
    };
    Results {
        schema_version: SCHEMA_VERSION,
        started_ms: 0,
        machine,
        arguments: Vec::new(),
        warm_up_seconds: 60.0,
        measure_seconds: 120.0,
        disk_floors: Vec::new(),
        cpu_floors: Vec::new(),
        runs,
    }
}

/// A produce run of 2 GiB that used `cpu_seconds`, a quarter of them in the broker's own code.
fn produce(broker: BrokerKind, cpu_seconds: f64, invalid: &[&str]) -> RunResult {
    let produce = FlowReport { bytes: 2 << 30, bytes_per_second: 5e7, ..FlowReport::default() };
    let used = ProcessUse {
        user_seconds: cpu_seconds / 4.0,
        system_seconds: cpu_seconds * 3.0 / 4.0,
        ..ProcessUse::default()
    };
    let load = LoadReport {
        produce: Some(produce),
        broker: Some(used),
        driver_busy: 0.25,
        invalid: invalid.iter().map(|why| (*why).to_owned()).collect(),
        ..LoadReport::default()
    };
    RunResult {
        case: Case { scenario: Scenario::Produce, partitions: 16, batch_kib: 16 },
        broker,
        repeat: 0,
        load: Some(load),
        figures: BTreeMap::new(),
        memory_free_bytes: None,
        failure: None,
    }
}

#[test]
fn cost_is_the_median_of_the_runs_that_count_and_their_ratio() {
    let tables = render(&[
        results(vec![
            produce(BrokerKind::Kafka, 8.0, &[]),
            produce(BrokerKind::Kafka, 100.0, &["the driver was 97 % busy"]),
            produce(BrokerKind::Tidemill, 2.0, &[]),
        ]),
        results(vec![
            produce(BrokerKind::Tidemill, 4.0, &[]),
            produce(BrokerKind::Tidemill, 20.0, &[]),
        ]),
    ]);
    let row = "| produce | 16 | 16 KiB | 50.0 | 50.0 | 1.00 + 3.00 | 0.50 + 1.50 | 4.00 | 2.00 | \
               0.50 | 0.50 | 25 / 25 |";
    assert!(tables.contains(row), "{tables}");
    let refused = "| Produce | 16 | 16 KiB | Kafka | the driver was 97 % busy |";
    assert!(tables.contains(refused), "{tables}");
    assert!(
        tables.starts_with("Commit 0123456789ab, 2 x a CPU, 24 GiB, Linux 6; 60 s"),
        "{tables}"
    );
}

#[test]
fn results_are_the_same_after_writing_and_reading() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("deep/results.json");
    let written = results(vec![produce(BrokerKind::Tidemill, 2.0, &[])]);
    written.write(&path).expect("written");
    let read = Results::read(&path).expect("read");
    assert_eq!(read.runs[0].load, written.runs[0].load);
    assert_eq!(render(&[read]), render(&[written]));
}
