//! What went through in one direction: bytes in the measured window, per second, and latencies.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::clock::SECOND_NS;
use crate::driver::latency::{Latencies, LatencySummary};

/// A GiB, the unit of cost.
pub const GIB: f64 = (1u64 << 30) as f64;

/// Counts one direction of a run.
#[derive(Debug)]
pub struct Flow {
    window_ns: Range<u64>,
    bytes_all: u64,
    bytes: u64,
    batches: u64,
    bytes_by_second: Vec<u64>,
    latencies: Latencies,
}

/// One direction of a run, as results keep it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// Bytes of batches that went through in the measured window.
    pub bytes: u64,
    /// Batches that went through in the measured window.
    pub batches: u64,
    /// Bytes per second over the measured window.
    pub bytes_per_second: f64,
    /// The slowest second of the measured window, in bytes.
    pub slowest_second_bytes: u64,
    /// Latencies of what was intended in the measured window.
    pub latency: LatencySummary,
}

impl Flow {
    /// An empty count for a measured window.
    pub fn new(window_ns: Range<u64>) -> anyhow::Result<Self> {
        let seconds = (window_ns.end - window_ns.start) / SECOND_NS;
        Ok(Self {
            bytes_by_second: vec![0; usize::try_from(seconds.min(86_400))?],
            latencies: Latencies::new(window_ns.clone())?,
            window_ns,
            bytes_all: 0,
            bytes: 0,
            batches: 0,
        })
    }

    /// Counts a batch of `bytes` that went through at `now_ns`.
    pub fn count(&mut self, now_ns: u64, bytes: u64) {
        self.bytes_all += bytes;
        if self.window_ns.contains(&now_ns) {
            self.bytes += bytes;
            self.batches += 1;
            let second = (now_ns - self.window_ns.start) / SECOND_NS;
            if let Some(slot) = self.bytes_by_second.get_mut(second as usize) {
                *slot += bytes;
            }
        }
    }

    /// Records the latency of one batch.
    pub fn record(&mut self, intended_ns: u64, done_ns: u64) {
        self.latencies.record(intended_ns, done_ns);
    }

    /// Bytes since the run began, warm-up included.
    #[must_use]
    pub fn bytes_all(&self) -> u64 {
        self.bytes_all
    }

    /// The figures of a run that ended at `end_ns`, if that was before the window's end.
    #[must_use]
    pub fn report(&self, end_ns: u64) -> FlowReport {
        let measured_ns = end_ns.min(self.window_ns.end).saturating_sub(self.window_ns.start);
        let seconds = measured_ns as f64 / SECOND_NS as f64;
        FlowReport {
            bytes: self.bytes,
            batches: self.batches,
            bytes_per_second: if seconds > 0.0 { self.bytes as f64 / seconds } else { 0.0 },
            slowest_second_bytes: self.bytes_by_second.iter().copied().min().unwrap_or(0),
            latency: self.latencies.summary(),
        }
    }
}
