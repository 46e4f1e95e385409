//! Flushes, objects, the cache of recent records, room on the disk.

use std::fmt;
use std::sync::Arc;

use tidemill_broker_server::broker::Broker;
use tidemill_broker_server::node::Node;
use tidemill_storage_store::{
    GarbageCounters, ReadCounters, SYNC_BUCKETS_US, SyncCounters, WriterCounters,
};

use crate::metrics::sheet::{Sheet, Times, load};

/// What is read of the log.
pub(super) struct LogMetrics {
    broker: Arc<Broker>,
    writer: Arc<WriterCounters>,
    reads: Arc<ReadCounters>,
    garbage: Arc<GarbageCounters>,
    syncs: Arc<SyncCounters>,
}

impl LogMetrics {
    /// Those of `node`, whose log counts its `syncs`.
    pub(super) fn new(node: &Node, syncs: Arc<SyncCounters>) -> Self {
        let counters = node.counters();
        Self {
            broker: Arc::clone(node.broker()),
            writer: Arc::clone(&counters.writer),
            reads: Arc::clone(&counters.reads),
            garbage: Arc::clone(&counters.garbage),
            syncs,
        }
    }

    /// Writes them out.
    pub(super) fn write(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        self.write_flushes(sheet)?;
        self.write_reads(sheet)?;
        sheet.counter(
            "tidemill_garbage_deleted",
            "Files deleted as garbage",
            &self.garbage.deleted,
        )?;
        sheet.counter(
            "tidemill_garbage_failures",
            "Deletions of garbage that failed and will be tried again",
            &self.garbage.failures,
        )?;
        sheet.gauge(
            "tidemill_log_space_low",
            "1 while the disk is so full that produce is refused",
            u64::from(self.broker.is_space_low()),
        )
    }

    fn write_reads(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let sources = [
            ("hot_cache", &self.reads.hot_reads, &self.reads.hot_bytes),
            ("page_cache", &self.reads.lent_reads, &self.reads.lent_bytes),
            ("block_cache", &self.reads.block_reads, &self.reads.block_bytes),
            ("store", &self.reads.store_reads, &self.reads.store_bytes),
        ];
        sheet.counters(
            "tidemill_log_reads",
            "Reads of records, by what answered them",
            "source",
            sources.iter().map(|(source, reads, _)| (*source, load(reads))),
        )?;
        sheet.counters(
            "tidemill_log_read_bytes",
            "Bytes of records read, by what answered them",
            "source",
            sources.iter().map(|(source, _, bytes)| (*source, load(bytes))),
        )?;
        sheet.counter(
            "tidemill_log_check_failures",
            "Reads whose checksums failed",
            &self.reads.check_failures,
        )
    }

    fn write_flushes(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let writer = &self.writer;
        sheet.counter("tidemill_log_objects", "Flushes sealed", &writer.objects)?;
        sheet.counter(
            "tidemill_log_object_bytes",
            "Bytes of sealed flushes",
            &writer.object_bytes,
        )?;
        sheet.counter(
            "tidemill_log_batches",
            "Record batches in sealed flushes",
            &writer.batches,
        )?;
        sheet.counter(
            "tidemill_produced_records",
            "Records committed for producers; a batch sent again counts once",
            &writer.records,
        )?;
        sheet.counter(
            "tidemill_log_puts",
            "Writes started, repeated ones included",
            &writer.puts,
        )?;
        sheet.counter("tidemill_log_put_failures", "Writes that failed", &writer.put_failures)?;
        sheet.seconds(
            "tidemill_log_put_seconds",
            "Time from sealed to durable, summed over flushes",
            load(&writer.put_micros),
        )?;
        sheet.times(
            "tidemill_log_sync_seconds",
            "Syncs of the files of the log; flushes that wait together share one",
            &Times {
                bounds_us: &SYNC_BUCKETS_US,
                buckets: &self.syncs.us_buckets,
                sum_us: load(&self.syncs.us_sum),
            },
        )?;
        sheet.counter(
            "tidemill_log_failovers",
            "Files left for a new one because a write was slow",
            &writer.failovers,
        )?;
        sheet.seconds(
            "tidemill_log_commit_seconds",
            "Time from durable to committed, summed over flushes",
            load(&writer.commit_micros),
        )?;
        sheet.counter("tidemill_log_skips", "Flushes given up", &writer.skips)?;
        sheet.counter(
            "tidemill_log_gaps",
            "Commits that arrived before the one ahead",
            &writer.gaps,
        )?;
        sheet.counter(
            "tidemill_log_commits_ambiguous",
            "Commits whose answer was lost and asked for again",
            &writer.ambiguous,
        )
    }
}
