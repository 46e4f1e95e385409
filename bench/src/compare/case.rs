//! What a run measures.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Kinds of runs.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// Producers in a closed loop: CPU per GiB, saturation.
    Produce,
    /// Producers in a closed loop, consumers that follow them: CPU per GiB.
    Both,
    /// Consumers of a backlog: CPU per GiB.
    Consume,
    /// 20 MB/s by schedule, produced and followed: latencies, CPU per GiB at that rate.
    Latency,
    /// The highest rate by schedule that is kept up.
    Sustained,
    /// 20 MB/s over many partitions: memory.
    Memory,
    /// 20 MB/s beside 10,000 connections that do nothing: memory.
    Idle,
    /// 20 MB/s produced and followed while others read a backlog: memory and latencies.
    CatchUp,
    /// From the start of the process to ready: empty, and after a kill.
    StartUp,
}

/// One thing to measure on each broker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Case {
    /// What kind of run.
    pub scenario: Scenario,
    /// Partitions of its topic.
    pub partitions: u32,
    /// KiB of records in a batch.
    pub batch_kib: u32,
}

impl Case {
    /// All cases, in order.
    #[must_use]
    pub fn all() -> Vec<Self> {
        use Scenario::{
            Both, CatchUp, Consume, Idle, Latency, Memory, Produce, StartUp, Sustained,
        };
        let mut cases = Vec::new();
        let mut add = |scenario, partitions, batch_kib| {
            cases.push(Self { scenario, partitions, batch_kib });
        };
        for scenario in [Produce, Both, Consume, Latency] {
            add(scenario, 16, 16);
            add(scenario, 1_000, 16);
            add(scenario, 16, 256);
        }
        for batch_kib in [16, 256] {
            add(Sustained, 16, batch_kib);
        }
        for partitions in [16, 1_000, 10_000] {
            add(Memory, partitions, 16);
        }
        for scenario in [Idle, CatchUp, StartUp] {
            add(scenario, 16, 16);
        }
        cases
    }
}
