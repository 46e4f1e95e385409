//! Writing metrics out, in few words.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Where metrics are written to.
pub(super) struct Sheet<'a> {
    encoder: DescriptorEncoder<'a>,
}

/// A distribution of times, as the parts count them: upper bounds in microseconds, one more bucket
/// for the rest.
pub(super) struct Times<'a> {
    /// The upper bounds.
    pub(super) bounds_us: &'a [u64],
    /// How many fell into each.
    pub(super) buckets: &'a [AtomicU64],
    /// The sum in microseconds.
    pub(super) sum_us: u64,
}

impl<'a> Sheet<'a> {
    /// A sheet that `encoder` writes.
    pub(super) fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self { encoder }
    }

    /// A number that only rises; `_total` is added to its name.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: &AtomicU64) -> fmt::Result {
        self.counter_value(name, help, load(value))
    }

    /// As [`Sheet::counter`], of a value at hand.
    pub(super) fn counter_value(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let encoder = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(encoder)
    }

    /// A sum of microseconds that only rises, told in seconds.
    pub(super) fn seconds(&mut self, name: &str, help: &str, micros: u64) -> fmt::Result {
        let encoder = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(micros as f64 / 1e6).encode(encoder)
    }

    /// A number that rises and falls.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let encoder = self.encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)).encode(encoder)
    }

    /// A time in seconds that rises and falls.
    pub(super) fn gauge_seconds(&mut self, name: &str, help: &str, micros: u64) -> fmt::Result {
        let encoder = self.encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        ConstGauge::new(micros as f64 / 1e6).encode(encoder)
    }

    /// One counter for each value of a label.
    pub(super) fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl Iterator<Item = (&'l str, u64)>,
    ) -> fmt::Result {
        let mut family = self.encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (value, count) in values {
            let labels = [(label, value)];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// One gauge for each value of a label.
    pub(super) fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'l str, u64)>,
    ) -> fmt::Result {
        let mut family = self.encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (value, number) in values {
            let labels = [(label, value)];
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            ConstGauge::new(number).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// A distribution of times, told in seconds.
    pub(super) fn times(&mut self, name: &str, help: &str, times: &Times<'_>) -> fmt::Result {
        let mut encoder =
            self.encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        let (sum, count, buckets) = times.in_seconds();
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    /// One distribution of times for each value of a label.
    pub(super) fn times_by<'l>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl Iterator<Item = (&'l str, Times<'l>)>,
    ) -> fmt::Result {
        let mut family = self.encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (value, times) in values {
            let labels = [(label, value)];
            let (sum, count, buckets) = times.in_seconds();
            let mut encoder = family.encode_family(&labels)?;
            encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }
}

impl Times<'_> {
    /// The sum, the count, and the buckets, each with its upper bound and its own count.
    fn in_seconds(&self) -> (f64, u64, Vec<(f64, u64)>) {
        let bounds = self.bounds_us.iter().map(|bound| *bound as f64 / 1e6).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(self.buckets.iter().map(load)).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        (self.sum_us as f64 / 1e6, count, buckets)
    }
}

/// The value of a counter now.
pub(super) fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
