//! Produce, version 9: a request of one batch for one partition.
//!
//! A request is `head + batch + TAIL`. The head is some 80 bytes of a connection's own; the batch is
//! shared by all connections and stays in the CPU's cache; three slices go into one vectored write.

use crate::wire::cursor::Cursor;
use crate::wire::{
    CORRELATION_ID_AT, WireError, put_compact_string, put_request_head, put_uvarint,
    set_frame_length,
};

/// The API key.
const API_KEY: i16 = 0;

/// The version asked for: the first flexible one, which names topics.
const API_VERSION: i16 = 9;

/// How long the broker may take, in milliseconds, before it answers REQUEST_TIMED_OUT.
const TIMEOUT_MS: i32 = 30_000;

/// What follows the batch: no tagged fields in the partition, the topic and the request.
pub const TAIL: [u8; 3] = [0; 3];

/// The head of a produce request, laid out once.
#[derive(Clone, Debug)]
pub struct ProduceHead {
    bytes: Vec<u8>,
    partition_at: usize,
}

/// What a broker says of one batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProduceAnswer {
    /// The request it answers.
    pub correlation_id: i32,
    /// Kafka's error code, 0 for none.
    pub error_code: i16,
    /// The offset of the batch's first record.
    pub base_offset: i64,
}

impl ProduceHead {
    /// The head of requests that produce a batch of `batch_bytes` to `topic` with acks=all.
    #[must_use]
    pub fn new(topic: &str, batch_bytes: usize) -> Self {
        let mut bytes = Vec::with_capacity(128);
        put_request_head(&mut bytes, API_KEY, API_VERSION);
        bytes.push(0); // no transactional id
        bytes.extend_from_slice(&(-1i16).to_be_bytes()); // acks
        bytes.extend_from_slice(&TIMEOUT_MS.to_be_bytes());
        put_uvarint(&mut bytes, 2); // one topic
        put_compact_string(&mut bytes, topic);
        put_uvarint(&mut bytes, 2); // one partition
        let partition_at = bytes.len();
        bytes.extend_from_slice(&0i32.to_be_bytes());
        put_uvarint(&mut bytes, batch_bytes + 1);
        let frame_bytes = bytes.len() + batch_bytes + TAIL.len();
        set_frame_length(&mut bytes, frame_bytes);
        Self { bytes, partition_at }
    }

    /// Makes it the head of the next request.
    pub fn patch(&mut self, correlation_id: i32, partition: i32) {
        self.bytes[CORRELATION_ID_AT..CORRELATION_ID_AT + 4]
            .copy_from_slice(&correlation_id.to_be_bytes());
        self.bytes[self.partition_at..self.partition_at + 4]
            .copy_from_slice(&partition.to_be_bytes());
    }

    /// The head as it goes out.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl ProduceAnswer {
    /// Reads an answer, `frame` being all after its length field.
    pub fn read(frame: &[u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(frame);
        let correlation_id = cursor.i32()?;
        cursor.tagged_fields()?;
        if cursor.compact_count()? != 1 {
            return Err(WireError::Unexpected("count of topics"));
        }
        cursor.compact_bytes()?;
        if cursor.compact_count()? != 1 {
            return Err(WireError::Unexpected("count of partitions"));
        }
        cursor.i32()?;
        let error_code = cursor.i16()?;
        let base_offset = cursor.i64()?;
        Ok(Self { correlation_id, error_code, base_offset })
    }
}

#[cfg(test)]
mod produce_test;
