//! Building a batch, record by record.
//!
//! Records are written in their final form as they come, after a gap for the header, so that an
//! uncompressed batch is finished in place.

use bytes::{Bytes, BytesMut};
use tidemill_base::{Offset, ProducerFacts, TimestampMs};

use crate::attributes::Attributes;
use crate::codec::Codec;
use crate::compressor::Compressor;
use crate::error::RecordsError;
use crate::header::{BATCH_HEADER_BYTES, BatchHeader, CRC_AT, CRC_FROM, LENGTH_PREFIX_BYTES, NONE};
use crate::record::HeaderView;
use crate::varint;

/// The most bytes of a batch: its length field is a signed 32-bit number.
pub const BATCH_BYTES_MAX: usize = i32::MAX as usize;
/// The most bytes that a record takes beside its key, value and headers.
const RECORD_OVERHEAD_BYTES_MAX: usize = 36;

/// A record to be appended.
#[derive(Clone, Copy, Debug)]
pub struct NewRecord<'a> {
    /// Its timestamp.
    pub timestamp: TimestampMs,
    /// Its key; `None` is null.
    pub key: Option<&'a [u8]>,
    /// Its value; `None` is null.
    pub value: Option<&'a [u8]>,
    /// Its headers, in order.
    pub headers: &'a [HeaderView<'a>],
}

/// A batch in the making: offsets 0, 1, 2 and so on from the base offset.
#[derive(Debug)]
pub struct BatchBuilder {
    codec: Codec,
    attributes: Attributes,
    producer: Option<ProducerFacts>,
    base_offset: Offset,
    leader_epoch: i32,
    base_timestamp: TimestampMs,
    max_timestamp: TimestampMs,
    records: u32,
    bytes: BytesMut,
}

impl BatchBuilder {
    /// A batch without records, base offset 0, no leader epoch, no producer.
    #[must_use]
    pub fn new(codec: Codec) -> Self {
        Self {
            codec,
            attributes: Attributes::default().with_codec(codec),
            producer: None,
            base_offset: Offset(0),
            leader_epoch: NONE,
            base_timestamp: TimestampMs(0),
            max_timestamp: TimestampMs(0),
            records: 0,
            bytes: BytesMut::zeroed(BATCH_HEADER_BYTES),
        }
    }

    /// Marks the batch as one of an idempotent producer.
    #[must_use]
    pub fn producer(mut self, producer: ProducerFacts) -> Self {
        self.producer = Some(producer);
        self
    }

    /// Marks the batch as part of a transaction.
    #[must_use]
    pub fn transactional(mut self) -> Self {
        self.attributes = self.attributes.with_transactional();
        self
    }

    /// Marks the batch as a control batch.
    #[must_use]
    pub fn control(mut self) -> Self {
        self.attributes = self.attributes.with_control();
        self
    }

    /// Sets the base offset and the leader epoch, which a broker overwrites.
    #[must_use]
    pub fn placed_at(mut self, base_offset: Offset, leader_epoch: i32) -> Self {
        self.base_offset = base_offset;
        self.leader_epoch = leader_epoch;
        self
    }

    /// Appends a record and answers its offset delta.
    ///
    /// # Errors
    /// [`RecordsError::RecordTooLarge`] if the batch would pass [`BATCH_BYTES_MAX`] or its count
    /// the format's; then nothing is appended.
    pub fn append(&mut self, record: &NewRecord<'_>) -> Result<u32, RecordsError> {
        if self.records == i32::MAX as u32 || !self.fits(record, BATCH_BYTES_MAX) {
            return Err(RecordsError::RecordTooLarge);
        }
        if self.records == 0 {
            self.base_timestamp = record.timestamp;
            self.max_timestamp = record.timestamp;
        }
        self.max_timestamp = self.max_timestamp.max(record.timestamp);
        let timestamp_delta = record.timestamp.0.wrapping_sub(self.base_timestamp.0);
        let offset_delta = self.records;
        let body_bytes = 1
            + varint::length(timestamp_delta)
            + varint::length(i64::from(offset_delta))
            + payload_bytes(record);
        varint::put(&mut self.bytes, body_bytes as i64);
        self.bytes.extend_from_slice(&[0]);
        varint::put(&mut self.bytes, timestamp_delta);
        varint::put(&mut self.bytes, i64::from(offset_delta));
        put_nullable(&mut self.bytes, record.key);
        put_nullable(&mut self.bytes, record.value);
        varint::put(&mut self.bytes, record.headers.len() as i64);
        for header in record.headers {
            put_nullable(&mut self.bytes, Some(header.key));
            put_nullable(&mut self.bytes, header.value);
        }
        self.records += 1;
        Ok(offset_delta)
    }

    /// Appends a record without headers.
    ///
    /// # Errors
    /// Those of [`Self::append`].
    pub fn append_value(
        &mut self,
        timestamp: TimestampMs,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<u32, RecordsError> {
        self.append(&NewRecord { timestamp, key, value, headers: &[] })
    }

    /// Whether the uncompressed batch stays within `batch_bytes_max` with `record` in it; never
    /// yes when it does not, though a record of nearly the last byte may be answered no.
    #[must_use]
    pub fn fits(&self, record: &NewRecord<'_>, batch_bytes_max: usize) -> bool {
        self.size_bytes()
            .saturating_add(payload_bytes(record))
            .saturating_add(RECORD_OVERHEAD_BYTES_MAX)
            <= batch_bytes_max
    }

    /// The bytes of the batch as it is, uncompressed, header included.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many records have been appended.
    #[must_use]
    pub fn record_count(&self) -> u32 {
        self.records
    }

    /// The finished batch, compressed and summed.
    ///
    /// # Errors
    /// [`RecordsError::Empty`], [`RecordsError::Compress`].
    pub fn finish(self, compressor: &mut Compressor) -> Result<Bytes, RecordsError> {
        if self.records == 0 {
            return Err(RecordsError::Empty);
        }
        let header = self.header();
        let mut bytes = self.bytes;
        if self.codec != Codec::None {
            let mut compressed = BytesMut::with_capacity(bytes.len());
            compressed.resize(BATCH_HEADER_BYTES, 0);
            compressor.compress(self.codec, &bytes[BATCH_HEADER_BYTES..], &mut compressed)?;
            bytes = compressed;
        }
        let batch_length = i32::try_from(bytes.len() - LENGTH_PREFIX_BYTES)
            .map_err(|_| RecordsError::RecordTooLarge)?;
        let header = BatchHeader { batch_length, ..header };
        bytes[..BATCH_HEADER_BYTES].copy_from_slice(&header.encode());
        let crc = crc32c::crc32c(&bytes[CRC_FROM..]);
        bytes[CRC_AT..CRC_FROM].copy_from_slice(&crc.to_be_bytes());
        Ok(bytes.freeze())
    }

    /// The header, save for length and checksum.
    fn header(&self) -> BatchHeader {
        let producer = self.producer;
        BatchHeader {
            base_offset: self.base_offset,
            batch_length: 0,
            leader_epoch: self.leader_epoch,
            crc: 0,
            attributes: self.attributes,
            last_offset_delta: self.records as i32 - 1,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            producer_id: producer.map_or(i64::from(NONE), |producer| producer.id.0),
            producer_epoch: producer.map_or(NONE as i16, |producer| producer.epoch.0),
            base_sequence: producer.map_or(NONE, |producer| producer.base_sequence.0),
            record_count: self.records as i32,
        }
    }
}

fn put_nullable(out: &mut BytesMut, bytes: Option<&[u8]>) {
    match bytes {
        None => varint::put(out, -1),
        Some(bytes) => {
            varint::put(out, bytes.len() as i64);
            out.extend_from_slice(bytes);
        }
    }
}

/// The bytes of key, value and headers with their lengths.
fn payload_bytes(record: &NewRecord<'_>) -> usize {
    let headers: usize = record
        .headers
        .iter()
        .map(|header| nullable_bytes(Some(header.key)) + nullable_bytes(header.value))
        .sum();
    nullable_bytes(record.key)
        + nullable_bytes(record.value)
        + varint::length(record.headers.len() as i64)
        + headers
}

fn nullable_bytes(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| varint::length(bytes.len() as i64) + bytes.len())
}
