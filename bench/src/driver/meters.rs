//! What the events of a run are counted into.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::Context;

use crate::driver::consumer::Fetched;
use crate::driver::flow::Flow;
use crate::driver::load::Load;
use crate::driver::producer::Ack;
use crate::driver::transit::Transit;

/// Everything that events count into.
#[derive(Debug)]
pub struct Meters {
    /// What was acknowledged.
    pub produce: Flow,
    /// What reached the consumers that follow.
    pub tail: Flow,
    /// What reached the consumers of the backlog.
    pub backlog: Flow,
    /// What is sent and not consumed.
    pub transit: Transit,
    /// The acknowledged end of each partition.
    pub end_offsets: Vec<i64>,
    record_count: u32,
    batch_bytes: u64,
    /// Answers with an error, per API and code.
    pub errors: BTreeMap<String, u64>,
}

impl Meters {
    /// Nothing counted yet.
    pub fn new(load: &Load, window_ns: &Range<u64>) -> anyhow::Result<Self> {
        Ok(Self {
            produce: Flow::new(window_ns.clone())?,
            tail: Flow::new(window_ns.clone())?,
            backlog: Flow::new(window_ns.clone())?,
            transit: Transit::new(load.partitions),
            end_offsets: vec![0; load.partitions as usize],
            record_count: load.batch.record_count,
            batch_bytes: load.batch.bytes.len() as u64,
            errors: BTreeMap::new(),
        })
    }

    /// A produce request is answered.
    pub fn acked(&mut self, now_ns: u64, ack: Ack) {
        if ack.error_code != 0 {
            return self.failed("produce", ack.error_code);
        }
        self.produce.count(now_ns, self.batch_bytes);
        self.produce.record(ack.intended_ns, now_ns);
        if let Ok(place) = usize::try_from(ack.partition) {
            self.end_offsets[place] = ack.base_offset + i64::from(self.record_count);
        }
    }

    /// A consumer that follows got something.
    pub fn tail_fetched(&mut self, now_ns: u64, fetched: Fetched) -> anyhow::Result<()> {
        match fetched {
            Fetched::Error { code } => self.failed("tail fetch", code),
            Fetched::Batch { partition, bytes } => {
                let intended_ns =
                    self.transit.arrive(partition).context("consumed a batch that was not sent")?;
                self.tail.count(now_ns, bytes);
                self.tail.record(intended_ns, now_ns);
            }
        }
        Ok(())
    }

    /// A consumer of the backlog got something.
    pub fn backlog_fetched(&mut self, now_ns: u64, fetched: Fetched) -> anyhow::Result<()> {
        match fetched {
            Fetched::Error { code } => self.failed("backlog fetch", code),
            Fetched::Batch { bytes, .. } => self.backlog.count(now_ns, bytes),
        }
        Ok(())
    }

    fn failed(&mut self, what: &str, code: i16) {
        *self.errors.entry(format!("{what}: code {code}")).or_default() += 1;
    }
}
