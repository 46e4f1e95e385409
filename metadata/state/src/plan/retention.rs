//! Which log starts to advance by `retention.ms` and `retention.bytes`.
//!
//! Whole entries go, from the front, never past the high watermark; the first entry that must stay
//! keeps all behind it, as in Kafka.

use tidemill_base::{Offset, TimestampMs};

use crate::command::LogStartAdvance;
use crate::configs::TopicConfig;
use crate::partition_log::PartitionLog;
use crate::state::MetadataState;

/// Plans advances for at most `limit` partitions, for one `AdvanceLogStart`. The others come when
/// these are done.
#[must_use]
pub fn plan(state: &MetadataState, now: TimestampMs, limit: usize) -> Vec<LogStartAdvance> {
    let mut advances = Vec::new();
    for topic in state.topics() {
        let config = state.topic_config(topic);
        if config.retention_ms.is_none() && config.retention_bytes.is_none() {
            continue;
        }
        for id in &topic.partitions {
            if advances.len() >= limit {
                return advances;
            }
            let log = state.partitions.get(id).map(|partition| &partition.log);
            let to = log.and_then(|log| new_log_start(log, &config, now));
            advances.extend(to.map(|to| LogStartAdvance { partition: *id, to: Some(to) }));
        }
    }
    advances
}

fn new_log_start(log: &PartitionLog, config: &TopicConfig, now: TimestampMs) -> Option<Offset> {
    let mut bytes = log.bytes;
    let mut to = None;
    for item in log.entries.iter() {
        let old =
            config.retention_ms.is_some_and(|ms| now.0.saturating_sub(item.max_timestamp) > ms);
        let left = bytes - u64::from(item.length);
        let much = config.retention_bytes.is_some_and(|kept| left >= kept);
        if !old && !much {
            break;
        }
        bytes = left;
        to = Some(Offset(item.end()).min(log.high_watermark));
    }
    to
}
