//! The settings of a consumer.

use crate::config::in_range;
use crate::error::Result;

/// Where to begin when there is no committed offset, or it is no longer there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum AutoOffsetReset {
    /// At the first record that is still there.
    Earliest,
    /// At the end: only new records are read.
    #[default]
    Latest,
    /// Nowhere: the application is told by an error.
    None,
}

/// Whether records of open and aborted transactions are read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum IsolationLevel {
    /// They are.
    #[default]
    ReadUncommitted,
    /// They are not: reading stops at the first open transaction.
    ReadCommitted,
}

impl IsolationLevel {
    /// Kafka's number.
    #[must_use]
    pub fn number(self) -> i8 {
        match self {
            Self::ReadUncommitted => 0,
            Self::ReadCommitted => 1,
        }
    }
}

/// The settings of a [`crate::Consumer`]. Times are milliseconds, sizes bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsumerConfig {
    /// The group whose offsets are used, and of which the consumer is a member when it subscribes.
    /// `None` reads without either. Default: none.
    pub group_id: Option<String>,
    /// The id of a static member, which keeps its partitions when it comes back within the session
    /// timeout. Default: none.
    pub group_instance_id: Option<String>,
    /// Where to begin without a usable offset. Default: latest.
    pub auto_offset_reset: AutoOffsetReset,
    /// How often the positions are committed by themselves (while polling, before partitions are
    /// given up, on closing); `None` for never. 10 to 3,600,000; default 5,000. Without a group
    /// nothing is committed.
    pub auto_commit_interval_ms: Option<u64>,
    /// Whether records of transactions are read before they are committed. Default: they are.
    pub isolation_level: IsolationLevel,
    /// How many records one poll answers at most. 1 to 1,000,000; default 500.
    pub poll_records_max: usize,
    /// How many bytes the broker waits for before it answers a fetch. 1 to 2 GiB - 1; default 1.
    pub fetch_bytes_min: u32,
    /// How many bytes one fetch answers at most; one batch is answered whatever its size. 1 to
    /// 2 GiB - 1; default 50 MiB.
    pub fetch_bytes_max: u32,
    /// The same for each partition of a fetch. Also how many bytes of a partition may wait to be
    /// polled before it stops being fetched. 1 to 2 GiB - 1; default 1 MiB.
    pub partition_fetch_bytes_max: u32,
    /// How long the broker waits for `fetch_bytes_min`. 0 to 60,000; default 500.
    pub fetch_wait_ms_max: u64,
    /// Whether the checksum of each batch is verified. Default: true.
    pub verify_checksums: bool,
    /// After how long without a heartbeat the group counts the member as dead. The broker has
    /// limits of its own. 1,000 to 3,600,000; default 45,000.
    pub session_timeout_ms: u64,
    /// How often a heartbeat is sent. At most a third of the session timeout; at least 10;
    /// default 3,000.
    pub heartbeat_interval_ms: u64,
    /// How long the application may go without polling before its partitions are given to
    /// others; also how long the group waits for it in a rebalance. At least the session timeout;
    /// at most 86,400,000; default 300,000.
    pub poll_interval_ms_max: u64,
    /// How partitions are shared out, best first; all members must share one. Default: range,
    /// then round-robin.
    pub assignors: Vec<crate::group::Assignor>,
    /// Whether topics that do not exist may be created by the broker. Default: false.
    pub create_topics: bool,
}

impl Default for ConsumerConfig {
    fn default() -> Self {
        Self {
            group_id: None,
            group_instance_id: None,
            auto_offset_reset: AutoOffsetReset::Latest,
            auto_commit_interval_ms: Some(5_000),
            isolation_level: IsolationLevel::ReadUncommitted,
            poll_records_max: 500,
            fetch_bytes_min: 1,
            fetch_bytes_max: 50 * 1024 * 1024,
            partition_fetch_bytes_max: 1024 * 1024,
            fetch_wait_ms_max: 500,
            verify_checksums: true,
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 3_000,
            poll_interval_ms_max: 300_000,
            assignors: vec![crate::group::Assignor::Range, crate::group::Assignor::RoundRobin],
            create_topics: false,
        }
    }
}

impl ConsumerConfig {
    /// The defaults, as a member of this group.
    #[must_use]
    pub fn in_group(group_id: impl Into<String>) -> Self {
        Self { group_id: Some(group_id.into()), ..Self::default() }
    }

    /// Checks every range.
    ///
    /// # Errors
    /// `Invalid`, naming the setting.
    pub fn validate(&self) -> Result<()> {
        const BYTES_MAX: u64 = i32::MAX as u64;
        if let Some(interval_ms) = self.auto_commit_interval_ms {
            in_range("auto_commit_interval_ms", interval_ms, 10, 3_600_000)?;
        }
        in_range("poll_records_max", self.poll_records_max as u64, 1, 1_000_000)?;
        in_range("fetch_bytes_min", self.fetch_bytes_min.into(), 1, BYTES_MAX)?;
        in_range("fetch_bytes_max", self.fetch_bytes_max.into(), 1, BYTES_MAX)?;
        let partition_bytes = self.partition_fetch_bytes_max.into();
        in_range("partition_fetch_bytes_max", partition_bytes, 1, BYTES_MAX)?;
        in_range("fetch_wait_ms_max", self.fetch_wait_ms_max, 0, 60_000)?;
        in_range("session_timeout_ms", self.session_timeout_ms, 1_000, 3_600_000)?;
        let most = self.session_timeout_ms / 3;
        in_range("heartbeat_interval_ms", self.heartbeat_interval_ms, 10, most)?;
        let least = self.session_timeout_ms;
        in_range("poll_interval_ms_max", self.poll_interval_ms_max, least, 86_400_000)?;
        in_range("assignors", self.assignors.len() as u64, 1, 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert!(ConsumerConfig::in_group("g").validate().is_ok());
    }

    #[test]
    fn a_heartbeat_that_comes_too_seldom_is_refused() {
        let config = ConsumerConfig { heartbeat_interval_ms: 20_000, ..ConsumerConfig::default() };
        assert!(config.validate().unwrap_err().to_string().contains("heartbeat_interval_ms"));
    }
}
