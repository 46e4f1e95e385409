//! The header of a batch: 61 bytes, big endian, of which the first 21 are outside the checksum.
//!
//! ```text
//!  0 base offset i64       21 attributes i16            43 producer id i64
//!  8 batch length i32      23 last offset delta i32     51 producer epoch i16
//! 12 leader epoch i32      27 base timestamp i64        53 base sequence i32
//! 16 magic i8              35 max timestamp i64         57 record count i32
//! 17 crc u32                                            61 records
//! ```
//!
//! - The batch length counts from byte 12.
//! - The checksum is CRC-32C from byte 21 to the end.
//! - The first 16 bytes (the head) are the broker's: they are written anew when a batch is served.
//!
//! A header is what the bytes *say*. [`crate::validate`] decides whether to believe it.

use tidemill_base::{
    BaseSequence, LeaderEpoch, Offset, ProducerEpoch, ProducerFacts, ProducerId, TimestampMs,
};

use crate::attributes::Attributes;
use crate::error::RecordsError;

/// The bytes that the broker writes when it serves a batch: base offset, length, leader epoch.
pub const BATCH_HEAD_BYTES: usize = 16;
/// The bytes before the records.
pub const BATCH_HEADER_BYTES: usize = 61;
/// The bytes that the batch length does not count: the base offset and the length itself.
pub const LENGTH_PREFIX_BYTES: usize = 12;
/// The least batch length: a header without records.
pub const BATCH_LENGTH_MIN: i32 = (BATCH_HEADER_BYTES - LENGTH_PREFIX_BYTES) as i32;
/// The format that this crate reads.
pub const MAGIC_V2: i8 = 2;
/// Where the magic byte is; in the formats before v2 it is at the same place.
pub const MAGIC_AT: usize = 16;
/// Where the checksum is.
pub const CRC_AT: usize = 17;
/// The first byte that the checksum covers.
pub const CRC_FROM: usize = 21;
/// Where the attributes are.
pub const ATTRIBUTES_AT: usize = 21;
/// Where the max timestamp is.
pub const MAX_TIMESTAMP_AT: usize = 35;
/// Kafka's "none" for producer ids, epochs, sequences, leader epochs and timestamps.
pub const NONE: i32 = -1;

/// The header of a batch, as the bytes have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchHeader {
    /// The offset of the first record. In stored bytes: whatever the client sent.
    pub base_offset: Offset,
    /// The bytes from the leader epoch to the end; at least [`BATCH_LENGTH_MIN`].
    pub batch_length: i32,
    /// The leader epoch, or -1. In stored bytes: whatever the client sent.
    pub leader_epoch: i32,
    /// CRC-32C from the attributes to the end.
    pub crc: u32,
    /// Codec, timestamp type and flags.
    pub attributes: Attributes,
    /// The offset of the last record less the base offset.
    pub last_offset_delta: i32,
    /// What the records' timestamp deltas count from.
    pub base_timestamp: TimestampMs,
    /// The largest timestamp, by the producer's word.
    pub max_timestamp: TimestampMs,
    /// The producer id, or -1.
    pub producer_id: i64,
    /// The producer epoch, or -1.
    pub producer_epoch: i16,
    /// The sequence of the first record, or -1.
    pub base_sequence: i32,
    /// How many records follow.
    pub record_count: i32,
}

impl BatchHeader {
    /// Reads the header at the start of `bytes`. What follows is not looked at.
    ///
    /// # Errors
    /// [`RecordsError::Truncated`], [`RecordsError::UnsupportedMagic`] (also of batches that are
    /// shorter than a v2 header), [`RecordsError::LengthInvalid`].
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordsError> {
        if let Some(&magic) = bytes.get(MAGIC_AT)
            && magic as i8 != MAGIC_V2
        {
            return Err(RecordsError::UnsupportedMagic { magic: magic as i8 });
        }
        let header: &[u8; BATCH_HEADER_BYTES] =
            bytes.first_chunk().ok_or(RecordsError::Truncated {
                needed: BATCH_HEADER_BYTES as u64,
                available: bytes.len() as u64,
            })?;
        let header = Self::read(header);
        if header.batch_length < BATCH_LENGTH_MIN {
            return Err(RecordsError::LengthInvalid { length: header.batch_length });
        }
        Ok(header)
    }

    fn read(bytes: &[u8; BATCH_HEADER_BYTES]) -> Self {
        Self {
            base_offset: Offset(i64::from_be_bytes(at(bytes, 0))),
            batch_length: i32::from_be_bytes(at(bytes, 8)),
            leader_epoch: i32::from_be_bytes(at(bytes, 12)),
            crc: u32::from_be_bytes(at(bytes, CRC_AT)),
            attributes: Attributes(i16::from_be_bytes(at(bytes, ATTRIBUTES_AT))),
            last_offset_delta: i32::from_be_bytes(at(bytes, 23)),
            base_timestamp: TimestampMs(i64::from_be_bytes(at(bytes, 27))),
            max_timestamp: TimestampMs(i64::from_be_bytes(at(bytes, MAX_TIMESTAMP_AT))),
            producer_id: i64::from_be_bytes(at(bytes, 43)),
            producer_epoch: i16::from_be_bytes(at(bytes, 51)),
            base_sequence: i32::from_be_bytes(at(bytes, 53)),
            record_count: i32::from_be_bytes(at(bytes, 57)),
        }
    }

    /// The 61 bytes that say this.
    #[must_use]
    pub fn encode(&self) -> [u8; BATCH_HEADER_BYTES] {
        let mut bytes = [0; BATCH_HEADER_BYTES];
        put(&mut bytes, 0, &self.base_offset.0.to_be_bytes());
        put(&mut bytes, 8, &self.batch_length.to_be_bytes());
        put(&mut bytes, 12, &self.leader_epoch.to_be_bytes());
        put(&mut bytes, MAGIC_AT, &MAGIC_V2.to_be_bytes());
        put(&mut bytes, CRC_AT, &self.crc.to_be_bytes());
        put(&mut bytes, ATTRIBUTES_AT, &self.attributes.0.to_be_bytes());
        put(&mut bytes, 23, &self.last_offset_delta.to_be_bytes());
        put(&mut bytes, 27, &self.base_timestamp.0.to_be_bytes());
        put(&mut bytes, MAX_TIMESTAMP_AT, &self.max_timestamp.0.to_be_bytes());
        put(&mut bytes, 43, &self.producer_id.to_be_bytes());
        put(&mut bytes, 51, &self.producer_epoch.to_be_bytes());
        put(&mut bytes, 53, &self.base_sequence.to_be_bytes());
        put(&mut bytes, 57, &self.record_count.to_be_bytes());
        bytes
    }

    /// The bytes of the whole batch, header included.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        LENGTH_PREFIX_BYTES + self.batch_length.max(0) as usize
    }

    /// The offset of the last record.
    #[must_use]
    pub fn last_offset(&self) -> Offset {
        Offset(self.base_offset.0.saturating_add(i64::from(self.last_offset_delta)))
    }

    /// The offset after the last record: what a consumer asks for next.
    #[must_use]
    pub fn next_offset(&self) -> Offset {
        Offset(self.last_offset().0.saturating_add(1))
    }

    /// How many offsets the batch takes: last offset delta + 1; 0 if the delta is negative.
    #[must_use]
    pub fn offsets_taken(&self) -> u32 {
        (i64::from(self.last_offset_delta) + 1).max(0) as u32
    }

    /// The record count; 0 if the header has a negative one.
    #[must_use]
    pub fn counted(&self) -> u32 {
        self.record_count.max(0) as u32
    }

    /// Who produced the batch, if it was an idempotent producer. The transaction is left 0.
    #[must_use]
    pub fn producer(&self) -> Option<ProducerFacts> {
        (self.producer_id > i64::from(NONE)).then_some(ProducerFacts {
            id: ProducerId(self.producer_id),
            epoch: ProducerEpoch(self.producer_epoch),
            base_sequence: BaseSequence(self.base_sequence),
            transaction: 0,
        })
    }
}

/// The head of a batch as it is served: all that the broker supplies.
///
/// `batch_length` is [`BatchHeader::batch_length`], unchanged.
#[must_use]
pub fn head16(
    base_offset: Offset,
    leader_epoch: LeaderEpoch,
    batch_length: i32,
) -> [u8; BATCH_HEAD_BYTES] {
    let mut head = [0; BATCH_HEAD_BYTES];
    put(&mut head, 0, &base_offset.0.to_be_bytes());
    put(&mut head, 8, &batch_length.to_be_bytes());
    put(&mut head, 12, &leader_epoch.0.to_be_bytes());
    head
}

fn at<const N: usize>(bytes: &[u8; BATCH_HEADER_BYTES], position: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[position..position + N]);
    field
}

fn put(bytes: &mut [u8], position: usize, field: &[u8]) {
    bytes[position..position + field.len()].copy_from_slice(field);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> BatchHeader {
        BatchHeader {
            base_offset: Offset(7),
            batch_length: 49,
            leader_epoch: 3,
            crc: 0xdead_beef,
            attributes: Attributes(4),
            last_offset_delta: 9,
            base_timestamp: TimestampMs(1_000),
            max_timestamp: TimestampMs(2_000),
            producer_id: 11,
            producer_epoch: 1,
            base_sequence: 5,
            record_count: 10,
        }
    }

    #[test]
    fn what_is_encoded_is_read_again() {
        assert_eq!(BatchHeader::parse(&sample().encode()), Ok(sample()));
    }

    #[test]
    fn the_head_is_the_start_of_the_header() {
        let header = sample();
        let head = head16(header.base_offset, LeaderEpoch(3), header.batch_length);
        assert_eq!(head, header.encode()[..BATCH_HEAD_BYTES]);
    }

    #[test]
    fn older_magic_is_told_even_when_short() {
        let mut bytes = [0; 17];
        bytes[MAGIC_AT] = 1;
        assert_eq!(BatchHeader::parse(&bytes), Err(RecordsError::UnsupportedMagic { magic: 1 }));
    }

    #[test]
    fn every_truncation_is_an_error() {
        let bytes = sample().encode();
        for length in 0..bytes.len() {
            assert!(matches!(
                BatchHeader::parse(&bytes[..length]),
                Err(RecordsError::Truncated { .. })
            ));
        }
    }

    #[test]
    fn hostile_numbers_do_not_overflow() {
        let mut header = sample();
        header.base_offset = Offset(i64::MAX);
        header.last_offset_delta = i32::MAX;
        assert_eq!(header.next_offset(), Offset(i64::MAX));
        assert_eq!(header.offsets_taken(), 1 << 31);
        header.last_offset_delta = i32::MIN;
        assert_eq!(header.offsets_taken(), 0);
    }
}
