//! Whether a produced batch is admitted, and what the metadata has to know of it.
//!
//! A batch passes through as it came (P10), but for topics with LogAppendTime, whose timestamp type,
//! max timestamp and checksum the admitting broker writes before the bytes are stored.

mod unpacking;

use bytes::{Bytes, BytesMut};
use tidemill_base::{BatchFacts, PartitionId, TimestampMs};
use tidemill_kafka::ErrorCode;
use tidemill_records::{
    AdmissionLimits, BatchHeader, BatchView, RecordsError, stamp_log_append_time, validate_header,
};

pub use self::unpacking::Unpacking;

/// The timestamp of a record that has none.
const NO_TIMESTAMP: i64 = -1;

/// What a topic asks of its batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TopicPolicy {
    /// `max.message.bytes`.
    pub batch_bytes_max: u32,
    /// `message.timestamp.type` is LogAppendTime.
    pub log_append_time: bool,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// `tidemill.validate` is `records`: every record is walked, not only the header.
    pub validate_records: bool,
}

/// Why a batch is not admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// It is not a batch as it should be.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// A record's timestamp is too far from the broker's clock.
    #[error(
        "timestamp {timestamp} is outside what the topic allows around {now} (message.timestamp.before.max.ms, message.timestamp.after.max.ms)"
    )]
    Timestamp {
        /// The timestamp.
        timestamp: TimestampMs,
        /// The broker's clock.
        now: TimestampMs,
    },
    /// It belongs to a transaction, and those are not supported yet.
    #[error("transactions are not supported yet")]
    Transactional,
    /// More would have to be decompressed than is allowed here: it has to be judged elsewhere.
    #[error("too much would have to be decompressed here")]
    NotHere,
}

impl Refused {
    /// The code that tells the client.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Timestamp { .. } => ErrorCode::INVALID_TIMESTAMP,
            Self::Transactional => ErrorCode::INVALID_TXN_STATE,
            Self::NotHere => ErrorCode::MESSAGE_TOO_LARGE,
            Self::Records(error) => records_code(error),
        }
    }
}

/// The code for bytes that are not a batch as it should be.
fn records_code(error: &RecordsError) -> ErrorCode {
    match error {
        RecordsError::Truncated { .. }
        | RecordsError::LengthInvalid { .. }
        | RecordsError::CrcMismatch { .. } => ErrorCode::CORRUPT_MESSAGE,
        RecordsError::UnsupportedMagic { .. } => ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT,
        RecordsError::TooLarge { .. } | RecordsError::OutputTooLarge { .. } => {
            ErrorCode::MESSAGE_TOO_LARGE
        }
        RecordsError::UnknownCodec { .. } => ErrorCode::UNSUPPORTED_COMPRESSION_TYPE,
        RecordsError::TimestampTypeFromClient => ErrorCode::INVALID_TIMESTAMP,
        _ => ErrorCode::INVALID_RECORD,
    }
}

/// Checks the one batch that `records` must hold. Returns its facts (position 0) and the bytes to
/// store: the same, or a stamped copy for LogAppendTime.
///
/// # Errors
/// [`Refused`] says why, and which code tells the client.
pub fn admit(
    partition: PartitionId,
    records: &Bytes,
    policy: &TopicPolicy,
    now: TimestampMs,
    unpacking: &mut Unpacking<'_>,
) -> Result<(BatchFacts, Bytes), Refused> {
    let view = BatchView::parse(records)?;
    validate_header(&view, &AdmissionLimits { batch_bytes_max: policy.batch_bytes_max })?;
    let header = *view.header();
    if header.attributes.is_transactional() {
        return Err(Refused::Transactional);
    }
    let (oldest, newest) = match policy.validate_records {
        true => {
            let facts = unpacking.validate(&view)?;
            (facts.min_timestamp, facts.max_timestamp)
        }
        false => (header.base_timestamp.min(header.max_timestamp), header.max_timestamp),
    };
    if policy.log_append_time {
        let mut stamped = BytesMut::from(&records[..]);
        stamp_log_append_time(&mut stamped, now)?;
        return Ok((facts(partition, &header, records.len(), now), stamped.freeze()));
    }
    for timestamp in [oldest, newest] {
        check_timestamp(timestamp, policy, now)?;
    }
    Ok((facts(partition, &header, records.len(), newest), records.clone()))
}

fn facts(
    partition: PartitionId,
    header: &BatchHeader,
    length: usize,
    max_timestamp: TimestampMs,
) -> BatchFacts {
    BatchFacts {
        partition,
        position: 0,
        length: length as u32,
        record_count: header.offsets_taken(),
        max_timestamp,
        producer: header.producer(),
        transactional: header.attributes.is_transactional(),
    }
}

fn check_timestamp(
    timestamp: TimestampMs,
    policy: &TopicPolicy,
    now: TimestampMs,
) -> Result<(), Refused> {
    let ahead = timestamp.0.saturating_sub(now.0);
    let allowed = timestamp.0 == NO_TIMESTAMP
        || ahead <= policy.timestamp_after_max_ms
            && ahead.saturating_neg() <= policy.timestamp_before_max_ms;
    if allowed { Ok(()) } else { Err(Refused::Timestamp { timestamp, now }) }
}

#[cfg(test)]
mod tests;
