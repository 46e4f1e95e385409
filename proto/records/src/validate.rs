//! Whether a batch from a client may be admitted, as far as its header tells.
//!
//! The order matters for the answer: format and size first, because a wrong magic or a too large
//! batch is told as such; then the checksum, because damaged bytes must be told as damage (the
//! client sends them again) before any field is called invalid (it does not).

use crate::attributes::TimestampType;
use crate::batch::BatchView;
use crate::codec::Codec;
use crate::error::RecordsError;
use crate::header::BatchHeader;
use crate::walk::RECORD_BYTES_MIN;

/// What a broker or topic allows of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdmissionLimits {
    /// The most bytes of a batch, header included, as sent (`max.message.bytes`).
    pub batch_bytes_max: u32,
}

/// Checks what Kafka 4 checks of a client's batch before its records: size, checksum, counts,
/// codec, flags, producer. Reads all bytes once, for the checksum.
///
/// # Errors
/// [`RecordsError::TooLarge`], [`RecordsError::CrcMismatch`], [`RecordsError::UnknownCodec`],
/// [`RecordsError::CountInvalid`], [`RecordsError::ControlFromClient`],
/// [`RecordsError::TimestampTypeFromClient`], [`RecordsError::DeleteHorizonFromClient`],
/// [`RecordsError::ProducerInvalid`], [`RecordsError::TransactionWithoutProducer`].
pub fn validate_header(
    batch: &BatchView<'_>,
    limits: &AdmissionLimits,
) -> Result<(), RecordsError> {
    let bytes = batch.bytes().len() as u64;
    let bytes_max = u64::from(limits.batch_bytes_max);
    if bytes > bytes_max {
        return Err(RecordsError::TooLarge { bytes, bytes_max });
    }
    batch.verify_crc()?;
    let header = batch.header();
    let codec = header.attributes.codec()?;
    check_flags(header)?;
    check_counts(header, codec, batch.payload().len() as u64)?;
    check_producer(header)
}

fn check_flags(header: &BatchHeader) -> Result<(), RecordsError> {
    if header.attributes.is_control() {
        return Err(RecordsError::ControlFromClient);
    }
    if header.attributes.timestamp_type() == TimestampType::LogAppendTime {
        return Err(RecordsError::TimestampTypeFromClient);
    }
    if header.attributes.has_delete_horizon() {
        return Err(RecordsError::DeleteHorizonFromClient);
    }
    Ok(())
}

fn check_counts(
    header: &BatchHeader,
    codec: Codec,
    payload_bytes: u64,
) -> Result<(), RecordsError> {
    let matches = header.record_count > 0
        && i64::from(header.record_count) == i64::from(header.last_offset_delta) + 1;
    let fits =
        codec != Codec::None || u64::from(header.counted()) * RECORD_BYTES_MIN <= payload_bytes;
    if matches && fits {
        Ok(())
    } else {
        Err(RecordsError::CountInvalid {
            record_count: header.record_count,
            last_offset_delta: header.last_offset_delta,
        })
    }
}

/// Without a producer id, epoch and sequence mean nothing and may be anything: clients differ.
fn check_producer(header: &BatchHeader) -> Result<(), RecordsError> {
    let none = header.producer_id == i64::from(crate::header::NONE);
    if none && header.attributes.is_transactional() {
        return Err(RecordsError::TransactionWithoutProducer);
    }
    if none || header.producer_id >= 0 && header.producer_epoch >= 0 && header.base_sequence >= 0 {
        return Ok(());
    }
    Err(RecordsError::ProducerInvalid {
        id: header.producer_id,
        epoch: header.producer_epoch,
        base_sequence: header.base_sequence,
    })
}
