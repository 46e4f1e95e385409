//! A record that was consumed.

use bytes::Bytes;
use tidemill_base::{LeaderEpoch, Offset, TimestampMs};
use tidemill_records::TimestampType;

use crate::header::Header;
use crate::topic_partition::TopicPartition;

/// A record that was consumed.
///
/// Key, value and header values share the memory of the answer they came in, up to the fetch's
/// size; what is kept for long should be copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsumerRecord {
    /// Its partition.
    pub partition: TopicPartition,
    /// Its offset.
    pub offset: Offset,
    /// Its timestamp.
    pub timestamp: TimestampMs,
    /// Whether the producer or the broker set the timestamp.
    pub timestamp_type: TimestampType,
    /// The leader epoch under which it was appended, if the broker tells it.
    pub leader_epoch: Option<LeaderEpoch>,
    /// The key; `None` is null.
    pub key: Option<Bytes>,
    /// The value; `None` is null.
    pub value: Option<Bytes>,
    /// The headers, in order. A name that is not UTF-8 has its wrong bytes replaced.
    pub headers: Vec<Header>,
}
