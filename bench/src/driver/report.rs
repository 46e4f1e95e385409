//! What a run found, and whether it counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::{SECOND_NS, own_cpu_ns};
use crate::driver::flow::FlowReport;
use crate::proc_stat::{self, CoreTicks, CpuTicks, Resident};

/// Above this share of its core's time the driver limits what it measures.
pub const DRIVER_BUSY_MAX: f64 = 0.8;

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Seconds measured.
    pub seconds: f64,
    /// What was acknowledged to producers.
    pub produce: Option<FlowReport>,
    /// What reached the consumers that follow; their latencies are end to end.
    pub tail: Option<FlowReport>,
    /// What reached the consumers of the backlog.
    pub backlog: Option<FlowReport>,
    /// What the broker used.
    pub broker: Option<ProcessUse>,
    /// The driver's CPU time as a share of the time measured.
    pub driver_busy: f64,
    /// Busy share of each core, by whatever ran there.
    pub cores_busy: Vec<f64>,
    /// How far the schedule was behind when it ended, in milliseconds.
    pub behind_ms: f64,
    /// Answers with an error, per API and Kafka code.
    pub errors: BTreeMap<String, u64>,
    /// Why the run does not count; empty if it does.
    pub invalid: Vec<String>,
    /// The end of each partition as acknowledged; for the next run, not for the results.
    #[serde(skip)]
    pub end_offsets: Vec<i64>,
}

/// What a process used while it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// CPU seconds in its own code.
    pub user_seconds: f64,
    /// CPU seconds in the kernel.
    pub system_seconds: f64,
    /// The most resident memory seen, sampled four times a second.
    pub resident_bytes_max: u64,
    /// The most resident memory since the process began, as the kernel counts it.
    pub peak_bytes: u64,
}

impl ProcessUse {
    /// User and system together.
    #[must_use]
    pub fn cpu_seconds(&self) -> f64 {
        self.user_seconds + self.system_seconds
    }
}

/// The counters of the machine at one moment.
#[derive(Clone, Debug)]
struct Snapshot {
    at_ns: u64,
    driver_ns: u64,
    broker: CpuTicks,
    cores: Vec<CoreTicks>,
}

/// Watches the broker, the driver and the cores over the measured window.
#[derive(Debug)]
pub struct Watch {
    pid: Option<u32>,
    begin: Option<Snapshot>,
    end: Option<Snapshot>,
    resident: Resident,
}

impl Watch {
    /// Watches the process `pid`, if any.
    #[must_use]
    pub fn new(pid: Option<u32>) -> Self {
        Self { pid, begin: None, end: None, resident: Resident::default() }
    }

    /// The window begins.
    pub fn begin(&mut self, now_ns: u64) -> anyhow::Result<()> {
        self.begin = Some(self.snapshot(now_ns)?);
        self.sample_memory()
    }

    /// The window ends.
    pub fn end(&mut self, now_ns: u64) -> anyhow::Result<()> {
        self.sample_memory()?;
        self.end = Some(self.snapshot(now_ns)?);
        Ok(())
    }

    /// Whether the window has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begin.is_some()
    }

    /// Whether the window has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Looks at the broker's memory.
    pub fn sample_memory(&mut self) -> anyhow::Result<()> {
        if let Some(pid) = self.pid {
            let resident = proc_stat::resident(pid)?;
            self.resident.now_bytes = self.resident.now_bytes.max(resident.now_bytes);
            self.resident.peak_bytes = resident.peak_bytes;
        }
        Ok(())
    }

    /// Puts what was seen into `report`.
    pub fn fill(&self, report: &mut LoadReport) {
        let (Some(begin), Some(end)) = (&self.begin, &self.end) else { return };
        let seconds = (end.at_ns - begin.at_ns) as f64 / SECOND_NS as f64;
        report.seconds = seconds;
        report.driver_busy =
            (end.driver_ns - begin.driver_ns) as f64 / SECOND_NS as f64 / seconds.max(1e-9);
        let shares = begin.cores.iter().zip(&end.cores).map(|(begin, end)| {
            // The kernel's count of waiting for a disk may go back, so differences are clamped.
            let all = end.all.saturating_sub(begin.all).max(1);
            end.busy.saturating_sub(begin.busy) as f64 / all as f64
        });
        report.cores_busy = shares.collect();
        let tick = 1.0 / proc_stat::ticks_per_second();
        report.broker = self.pid.map(|_| ProcessUse {
            user_seconds: (end.broker.user - begin.broker.user) as f64 * tick,
            system_seconds: (end.broker.system - begin.broker.system) as f64 * tick,
            resident_bytes_max: self.resident.now_bytes,
            peak_bytes: self.resident.peak_bytes,
        });
        if report.driver_busy > DRIVER_BUSY_MAX {
            let share = report.driver_busy * 100.0;
            report.invalid.push(format!("the driver was {share:.0} % busy"));
        }
    }

    fn snapshot(&self, now_ns: u64) -> anyhow::Result<Snapshot> {
        let broker = self.pid.map(proc_stat::cpu_ticks).transpose()?.unwrap_or_default();
        let cores = proc_stat::core_ticks()?;
        Ok(Snapshot { at_ns: now_ns, driver_ns: own_cpu_ns(), broker, cores })
    }
}
