//! A record to be produced, and where it went.

use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::{Offset, PartitionIndex, TimestampMs};

use crate::header::Header;
use crate::topic_partition::TopicPartition;

/// What a record takes in a batch beside its key, value and headers, at most.
const RECORD_OVERHEAD_BYTES: usize = 41;
/// What a header takes beside its key and value, at most.
const HEADER_OVERHEAD_BYTES: usize = 10;

/// A record to be produced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition; `None` to choose by the key, or sticky without one.
    pub partition: Option<PartitionIndex>,
    /// The key; `None` is null.
    pub key: Option<Bytes>,
    /// The value; `None` is null: a tombstone where the topic is compacted.
    pub value: Option<Bytes>,
    /// The headers, in order.
    pub headers: Vec<Header>,
    /// The timestamp; `None` for the time at which it is sent.
    pub timestamp: Option<TimestampMs>,
}

impl Record {
    /// A record with a null key, a null value and no headers, for the partition and timestamp that
    /// the producer chooses.
    #[must_use]
    pub fn to(topic: impl Into<Arc<str>>) -> Self {
        Self {
            topic: topic.into(),
            partition: None,
            key: None,
            value: None,
            headers: Vec::new(),
            timestamp: None,
        }
    }

    /// The same with this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Bytes>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same with this value.
    #[must_use]
    pub fn value(mut self, value: impl Into<Bytes>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, key: impl Into<String>, value: impl Into<Bytes>) -> Self {
        self.headers.push(Header::new(key, value));
        self
    }

    /// The same for this partition.
    #[must_use]
    pub fn partition(mut self, partition: i32) -> Self {
        self.partition = Some(PartitionIndex(partition));
        self
    }

    /// The same with this timestamp.
    #[must_use]
    pub fn timestamp(mut self, timestamp: TimestampMs) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// The most bytes that the record takes in a batch before compression.
    #[must_use]
    pub fn size_bytes_max(&self) -> usize {
        let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, Bytes::len);
        let headers: usize = self
            .headers
            .iter()
            .map(|header| HEADER_OVERHEAD_BYTES + header.key.len() + length(&header.value))
            .sum();
        RECORD_OVERHEAD_BYTES + length(&self.key) + length(&self.value) + headers
    }
}

/// Where a record went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordMetadata {
    /// Its partition.
    pub partition: TopicPartition,
    /// Its offset. `None` with acks 0, and when the broker found the record stored by an earlier
    /// attempt so long ago that it forgot where.
    pub offset: Option<Offset>,
    /// Its timestamp: its own, or the broker's where the topic keeps the time of appending.
    pub timestamp: TimestampMs,
}
