//! How far a soak has come: written after each audit, read when it goes on.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::ledger::Digest;

const FILE: &str = "progress.json";

/// How far a soak has come.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// What its chance follows from.
    pub(crate) seed: u64,
    /// Rounds that were audited and found good.
    pub(crate) rounds: u64,
    /// Processes killed.
    pub(crate) kills: u64,
    /// Records acknowledged.
    pub(crate) acked: u64,
    /// How long each start after a kill took, in milliseconds.
    pub(crate) ready_ms: Vec<u64>,
    /// The next id of a producer.
    pub(crate) next_producer: u32,
    /// The logs as last audited, by partition.
    pub(crate) logs: Vec<Digest>,
}

impl Progress {
    /// What an earlier run left in `folder`, or a beginning.
    pub(crate) fn load(folder: &Path, seed: u64) -> Result<Self> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(Self { seed, ..Self::default() });
        }
        let text = fs::read(&path).context("read the soak's progress")?;
        serde_json::from_slice(&text).context("read the soak's progress")
    }

    /// Writes it, whole or not at all.
    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        let new = folder.join("progress.json.new");
        let text = serde_json::to_vec(self).context("write the soak's progress")?;
        fs::write(&new, text).context("write the soak's progress")?;
        fs::rename(&new, folder.join(FILE)).context("write the soak's progress")
    }

    /// The median and the largest of the starts, in milliseconds.
    pub(crate) fn ready_median_and_max(&self) -> (u64, u64) {
        let mut sorted = self.ready_ms.clone();
        sorted.sort_unstable();
        let median = sorted.get(sorted.len() / 2).copied();
        (median.unwrap_or_default(), sorted.last().copied().unwrap_or_default())
    }
}
