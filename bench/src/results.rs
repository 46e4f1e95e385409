//! Raw results: one JSON file per comparison, written after every run, so that none is lost.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::compare::case::Case;
use crate::driver::report::LoadReport;
use crate::floor::disk::DiskFloor;
use crate::floor::loopback::CpuFloor;
use crate::machine::Machine;
use crate::peers::BrokerKind;

/// Raised when a field changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything that one comparison found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA_VERSION`] when it was written.
    pub schema_version: u32,
    /// When the comparison began, in milliseconds since 1970.
    pub started_ms: i64,
    /// Where it ran, and what.
    pub machine: Machine,
    /// The command line, program left out.
    pub arguments: Vec<String>,
    /// Warm-up of a run, in seconds.
    pub warm_up_seconds: f64,
    /// Measured time of a run, in seconds.
    pub measure_seconds: f64,
    /// The floors of the disk.
    pub disk_floors: Vec<DiskFloor>,
    /// The floors of the CPU.
    pub cpu_floors: Vec<CpuFloor>,
    /// The runs, in order.
    pub runs: Vec<RunResult>,
}

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunResult {
    /// What was run.
    pub case: Case,
    /// On which broker.
    pub broker: BrokerKind,
    /// The how-many-th time, from 0.
    pub repeat: u32,
    /// What the driver found, where there was load.
    pub load: Option<LoadReport>,
    /// Other figures, by name with the unit last.
    pub figures: BTreeMap<String, f64>,
    /// Memory that was free when the broker was started, in bytes; little, if the page cache was filled.
    #[serde(default)]
    pub memory_free_bytes: Option<u64>,
    /// Why there is nothing, if the run could not be brought to its end.
    #[serde(default)]
    pub failure: Option<String>,
}

impl Results {
    /// Reads a file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        let results: Self =
            serde_json::from_str(&text).with_context(|| format!("parse {}", path.display()))?;
        if results.schema_version != SCHEMA_VERSION {
            bail!("{} has schema {}", path.display(), results.schema_version);
        }
        Ok(results)
    }

    /// Writes the whole file anew, so that it is never half a result.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let parent = path.parent().context("a results file has a folder")?;
        std::fs::create_dir_all(parent)?;
        let unfinished = path.with_extension("unfinished");
        std::fs::write(&unfinished, serde_json::to_string_pretty(self)? + "\n")?;
        std::fs::rename(&unfinished, path).with_context(|| format!("write {}", path.display()))
    }
}
