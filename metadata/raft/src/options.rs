//! What bounds and paces the metadata log, each value with its meaning.

use std::time::Duration;

use tidemill_base::ErrorKind;

use crate::error::OpenError;

/// The largest command, encoded. Larger bodies go to an object that the command names.
pub const COMMAND_BYTES_MAX: usize = 1 << 20;

/// Bounds of the log's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// A segment that reached this many bytes is followed by a new one; space is reserved on
    /// the disk ahead of what is written. Default 32 MiB.
    pub segment_bytes: u64,
    /// Segments are removed only while at least this much log stays, for members that lag.
    /// Default 64 MiB.
    pub log_kept_bytes: u64,
}

/// Everything that can be chosen about one member of the metadata quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaftOptions {
    /// This member's number in the quorum, from 1. Fixed once the log exists.
    pub node_id: u64,
    /// Bounds of the log's files.
    pub log: LogOptions,
    /// Proposals that may wait or be in flight; more are refused as `Throttled`. Default 8,192.
    pub proposals_pending_max: u64,
    /// Bytes of commands that may wait or be in flight. Default 32 MiB.
    pub proposal_bytes_pending_max: u64,
    /// The most proposals in one group commit. Default 4,096.
    pub batch_entries_max: usize,
    /// A group commit takes no further proposal once it holds this many bytes. Default 4 MiB.
    pub batch_bytes_max: usize,
    /// Requests other than proposals that may wait for the loop. Default 1,024.
    pub requests_pending_max: usize,
    /// Applied state is saved this long after it changed. Default 2 s.
    pub state_save_interval: Duration,
    /// Applied state is saved earlier once this many bytes of commands were applied since the
    /// last save, so that a restart replays little. Default 32 MiB.
    pub state_save_bytes: u64,
    /// For tests and benchmarks: never save, so that a restart replays everything. Default false.
    pub state_saves_held_back: bool,
    /// How far the wall clock may be from the monotonic one before time stands still. Default 10 s.
    pub clock_skew_max: Duration,
    /// One tick of the Raft core; an election takes ten to twenty. Default 100 ms.
    pub tick: Duration,
    /// The first wait before a failed write of the log or save of the state is tried again;
    /// doubled up to [`RaftOptions::retry_wait_max`]. Default 5 ms.
    pub retry_wait: Duration,
    /// The longest wait before trying again. Default 500 ms.
    pub retry_wait_max: Duration,
    /// Messages a watcher may be behind before it is cut off. Default 1,024.
    pub watch_messages_max: usize,
    /// Watchers at one time. Default 1,024.
    pub watchers_max: usize,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { segment_bytes: 32 << 20, log_kept_bytes: 64 << 20 }
    }
}

impl Default for RaftOptions {
    fn default() -> Self {
        Self {
            node_id: 1,
            log: LogOptions::default(),
            proposals_pending_max: 8192,
            proposal_bytes_pending_max: 32 << 20,
            batch_entries_max: 4096,
            batch_bytes_max: 4 << 20,
            requests_pending_max: 1024,
            state_save_interval: Duration::from_secs(2),
            state_save_bytes: 32 << 20,
            state_saves_held_back: false,
            clock_skew_max: Duration::from_secs(10),
            tick: Duration::from_millis(100),
            retry_wait: Duration::from_millis(5),
            retry_wait_max: Duration::from_millis(500),
            watch_messages_max: 1024,
            watchers_max: 1024,
        }
    }
}

impl RaftOptions {
    /// Refuses values that cannot work, by name.
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        let refuse = |reason: &str| Err(OpenError::new(ErrorKind::Invalid, reason.to_owned()));
        if self.node_id == 0 {
            return refuse("node_id must be at least 1");
        }
        if self.batch_entries_max == 0 || self.proposals_pending_max == 0 {
            return refuse("batch_entries_max and proposals_pending_max must be at least 1");
        }
        if self.batch_bytes_max > 16 << 20 {
            return refuse("batch_bytes_max must be at most 16 MiB");
        }
        if self.proposal_bytes_pending_max < COMMAND_BYTES_MAX as u64 {
            return refuse("proposal_bytes_pending_max must hold the largest command (1 MiB)");
        }
        if self.tick.is_zero() || self.retry_wait.is_zero() {
            return refuse("tick and retry_wait must not be zero");
        }
        if self.requests_pending_max == 0 || self.watch_messages_max == 0 {
            return refuse("requests_pending_max and watch_messages_max must be at least 1");
        }
        Ok(())
    }
}
