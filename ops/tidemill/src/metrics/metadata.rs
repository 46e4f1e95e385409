//! The metadata: its log, its syncs, its state.

use std::fmt;
use std::sync::Arc;

use tidemill_broker_server::broker::Broker;
use tidemill_broker_server::node::Node;
use tidemill_metadata_raft::RaftMetrics;
use tidemill_metadata_raft::metrics::SYNC_BUCKETS_US;

use crate::metrics::sheet::{Sheet, Times, load};

/// What is read of the metadata.
pub(super) struct MetadataMetrics {
    broker: Arc<Broker>,
    raft: Arc<RaftMetrics>,
}

impl MetadataMetrics {
    /// Those of `node`.
    pub(super) fn new(node: &Node) -> Self {
        Self { broker: Arc::clone(node.broker()), raft: node.broker().metadata.metrics() }
    }

    /// Writes them out.
    pub(super) fn write(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        self.write_log(sheet)?;
        self.write_saves(sheet)?;
        self.write_state(sheet)
    }

    fn write_log(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let raft = &self.raft;
        sheet.counter("tidemill_raft_proposals", "Commands proposed", &raft.proposals)?;
        sheet.counter(
            "tidemill_raft_proposals_throttled",
            "Commands refused because too many waited",
            &raft.proposals_throttled,
        )?;
        sheet.gauge(
            "tidemill_raft_proposals_pending",
            "Commands that wait or are being committed",
            load(&raft.proposals_pending),
        )?;
        sheet.counter("tidemill_raft_entries", "Entries written", &raft.entries_appended)?;
        sheet.counter("tidemill_raft_written_bytes", "Bytes written", &raft.bytes_appended)?;
        sheet.counter("tidemill_raft_group_commits", "Writes that were synced", &raft.appends)?;
        sheet.counter(
            "tidemill_raft_append_failures",
            "Writes or syncs that failed",
            &raft.append_failures,
        )?;
        sheet.times(
            "tidemill_raft_sync_seconds",
            "Syncs of the metadata log",
            &Times {
                bounds_us: &SYNC_BUCKETS_US,
                buckets: &raft.sync_us_buckets,
                sum_us: load(&raft.sync_us_sum),
            },
        )?;
        sheet.gauge("tidemill_raft_segments", "Files of the metadata log", load(&raft.segments))?;
        sheet.counter(
            "tidemill_raft_torn_tails_cut",
            "Torn tails cut when the log was recovered",
            &raft.torn_tails_cut,
        )?;
        sheet.counter(
            "tidemill_raft_entries_replayed",
            "Entries replayed when the log was recovered",
            &raft.entries_replayed,
        )?;
        sheet.gauge_seconds(
            "tidemill_raft_recovery_seconds",
            "How long recovery took",
            load(&raft.recovery_us),
        )
    }

    fn write_saves(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let raft = &self.raft;
        sheet.counter("tidemill_metadata_saves", "Saves of the state", &raft.saves)?;
        sheet.counter(
            "tidemill_metadata_save_failures",
            "Saves that failed",
            &raft.save_failures,
        )?;
        sheet.gauge_seconds(
            "tidemill_metadata_save_last_seconds",
            "How long the last save took",
            load(&raft.save_us_last),
        )?;
        sheet.gauge("tidemill_metadata_saved_index", "Last index saved", load(&raft.saved_index))
    }

    fn write_state(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let raft = &self.raft;
        sheet.counter("tidemill_metadata_commands", "Commands applied", &raft.commands_applied)?;
        sheet.gauge(
            "tidemill_metadata_applied_index",
            "Last index applied",
            load(&raft.applied_index),
        )?;
        sheet.counter(
            "tidemill_metadata_watchers_cut_off",
            "Watchers cut off because they were slow",
            &raft.watchers_cut_off,
        )?;
        sheet.gauge(
            "tidemill_metadata_time_stands_still",
            "1 while the wall clock is not believed",
            load(&raft.time_stands_still),
        )?;
        let facts = self.broker.metadata.with_state(|state| {
            [
                ("tidemill_topics", "Topics", state.topics().count() as u64),
                ("tidemill_groups", "Consumer groups", state.groups().count() as u64),
                (
                    "tidemill_log_files",
                    "Files of the log that are known, garbage included",
                    state.files().count() as u64,
                ),
                (
                    "tidemill_log_dead_bytes",
                    "Bytes in files that nothing refers to",
                    state.dead_bytes(),
                ),
                (
                    "tidemill_metadata_extents_waiting",
                    "Index entries that wait to be folded",
                    state.extents_waiting(),
                ),
                (
                    "tidemill_metadata_producer_entries",
                    "Idempotent producers remembered, per partition",
                    state.producer_entries(),
                ),
                (
                    "tidemill_metadata_state_bytes",
                    "Memory of the metadata state, about",
                    state.approximate_bytes() as u64,
                ),
            ]
        });
        facts.into_iter().try_for_each(|(name, help, value)| sheet.gauge(name, help, value))
    }
}
