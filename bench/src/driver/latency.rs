//! Latencies of one flow over the measured window, from intended times.

use std::ops::Range;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The finest and the longest latency told apart, in nanoseconds: 1 us and 10 min.
const LATENCY_NS: Range<u64> = 1_000..600_000_000_000;

/// Significant decimal digits kept.
const DIGITS: u8 = 3;

/// Latencies of requests whose intended time lies in a window.
#[derive(Debug)]
pub struct Latencies {
    window_ns: Range<u64>,
    histogram: Histogram<u64>,
}

/// What a table shows of a histogram, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// How many latencies were recorded.
    pub count: u64,
    /// The mean.
    pub mean_ms: f64,
    /// The median.
    pub p50_ms: f64,
    /// 90 % are at most this.
    pub p90_ms: f64,
    /// 99 % are at most this.
    pub p99_ms: f64,
    /// 99.9 % are at most this.
    pub p999_ms: f64,
    /// The largest.
    pub max_ms: f64,
}

impl Latencies {
    /// Keeps latencies of what was intended within `window_ns`.
    pub fn new(window_ns: Range<u64>) -> anyhow::Result<Self> {
        let histogram = Histogram::new_with_bounds(LATENCY_NS.start, LATENCY_NS.end, DIGITS)
            .map_err(|error| anyhow::anyhow!("histogram: {error}"))?;
        Ok(Self { window_ns, histogram })
    }

    /// Records what was intended at `intended_ns` and is done at `done_ns`.
    pub fn record(&mut self, intended_ns: u64, done_ns: u64) {
        if self.window_ns.contains(&intended_ns) {
            self.histogram.saturating_record(done_ns.saturating_sub(intended_ns));
        }
    }

    /// The figures.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        let at = |quantile| to_ms(self.histogram.value_at_quantile(quantile));
        LatencySummary {
            count: self.histogram.len(),
            mean_ms: self.histogram.mean() / 1e6,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: to_ms(self.histogram.max()),
        }
    }
}

fn to_ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_charged_to_every_request_it_delayed() {
        // One request a millisecond is intended; the broker stalls for 100 ms, then answers all.
        let mut latencies = Latencies::new(0..1_000_000_000).expect("bounds are valid");
        for n in 0..1_000u64 {
            let intended = n * 1_000_000;
            let done = if n < 100 { 100_000_000 } else { intended + 50_000 };
            latencies.record(intended, done);
        }
        let summary = latencies.summary();
        assert_eq!(summary.count, 1_000);
        assert!((summary.p50_ms - 0.05).abs() < 0.001);
        // A closed loop would have seen one slow request in a thousand.
        assert!(summary.p90_ms < 1.0 && summary.p99_ms > 85.0, "{summary:?}");
        assert!((summary.max_ms - 100.0).abs() < 0.2);
    }

    #[test]
    fn what_was_intended_outside_the_window_is_left_out() {
        let mut latencies = Latencies::new(10..20).expect("bounds are valid");
        for intended in [9, 10, 19, 20] {
            latencies.record(intended, 5_000_000);
        }
        assert_eq!(latencies.summary().count, 2);
    }
}
