//! What can be wrong with a batch.
//!
//! Nothing here allocates: hostile input must not be able to make errors dear. The Kafka code of
//! each error is chosen in the wire crate's table; the advice stands beside each variant, because
//! it decides whether a client sends the same bytes again.

use tidemill_base::ErrorKind;

use crate::codec::Codec;

/// What is wrong with a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordsError {
    /// The bytes end before the batch does. `CORRUPT_MESSAGE`.
    #[error("the batch needs {needed} bytes, {available} are there")]
    Truncated {
        /// How many bytes the batch, or the part of it looked at, takes.
        needed: u64,
        /// How many there are.
        available: u64,
    },
    /// Bytes follow where a single batch was expected. `INVALID_RECORD`.
    #[error("{bytes} bytes follow the batch")]
    TrailingBytes {
        /// How many.
        bytes: u64,
    },
    /// Another format, such as the message sets of magic 0 and 1. `UNSUPPORTED_FOR_MESSAGE_FORMAT`.
    #[error("magic {magic} is not supported, only 2")]
    UnsupportedMagic {
        /// The magic byte found.
        magic: i8,
    },
    /// The batch's own length is less than its header takes. `CORRUPT_MESSAGE`.
    #[error("batch length {length} is less than the header takes")]
    LengthInvalid {
        /// The length found.
        length: i32,
    },
    /// The batch is larger than allowed. `MESSAGE_TOO_LARGE`.
    #[error("the batch has {bytes} bytes, at most {bytes_max} are allowed")]
    TooLarge {
        /// The size of the whole batch.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// The bytes are not those that were summed. `CORRUPT_MESSAGE`: sending again may help.
    #[error("the checksum is {computed:#010x}, the batch says {stored:#010x}")]
    CrcMismatch {
        /// The sum in the batch.
        stored: u32,
        /// The sum of its bytes.
        computed: u32,
    },
    /// A codec number that Kafka does not define. `UNSUPPORTED_COMPRESSION_TYPE`.
    #[error("codec {id} is not known")]
    UnknownCodec {
        /// The number found.
        id: u8,
    },
    /// The record count is not positive, or is not the last offset delta + 1, or cannot fit in the
    /// bytes. `INVALID_RECORD`.
    #[error("{record_count} records with last offset delta {last_offset_delta} cannot be")]
    CountInvalid {
        /// The count in the header.
        record_count: i32,
        /// The last offset delta in the header.
        last_offset_delta: i32,
    },
    /// A client sent a control batch. `INVALID_RECORD`.
    #[error("clients may not write control batches")]
    ControlFromClient,
    /// A client sent the timestamp type LogAppendTime. `INVALID_TIMESTAMP`.
    #[error("clients may not set the timestamp type to LogAppendTime")]
    TimestampTypeFromClient,
    /// A client set the delete horizon, which only compaction does. `INVALID_RECORD`.
    #[error("clients may not set a delete horizon")]
    DeleteHorizonFromClient,
    /// Producer id, epoch and sequence do not go together. `INVALID_RECORD`.
    #[error("producer {id} epoch {epoch} sequence {base_sequence} cannot be")]
    ProducerInvalid {
        /// The producer id in the header.
        id: i64,
        /// The producer epoch in the header.
        epoch: i16,
        /// The base sequence in the header.
        base_sequence: i32,
    },
    /// A transactional batch without producer id. `INVALID_RECORD`.
    #[error("a transactional batch needs a producer id")]
    TransactionWithoutProducer,
    /// The data ends before the last record counted. `INVALID_RECORD`.
    #[error("{found} records found, the batch counts {counted}")]
    RecordsMissing {
        /// The count in the header.
        counted: u32,
        /// How many records there are.
        found: u32,
    },
    /// Data follows the last record counted. `INVALID_RECORD`.
    #[error("data follows the {counted} records that the batch counts")]
    RecordsTrailing {
        /// The count in the header.
        counted: u32,
    },
    /// A record is malformed. `INVALID_RECORD`.
    #[error("record {index}: {fault}")]
    Record {
        /// Its place in the batch, from 0.
        index: u32,
        /// What is wrong.
        fault: RecordFault,
    },
    /// The data is not what the codec writes. `INVALID_RECORD`.
    #[error("{codec} data: {reason}")]
    Decompress {
        /// The codec that the batch names.
        codec: Codec,
        /// What is wrong.
        reason: &'static str,
    },
    /// The data would grow beyond the limit. `MESSAGE_TOO_LARGE`, upon which producers split the
    /// batch: right for the honest ones, harmless for bombs.
    #[error("{codec} data would take more than {bytes_max} bytes")]
    OutputTooLarge {
        /// The codec that the batch names.
        codec: Codec,
        /// The limit for this batch.
        bytes_max: u64,
    },
    /// A batch without records cannot be built.
    #[error("a batch needs a record")]
    Empty,
    /// A record, or the batch with it, would be larger than the format can say.
    #[error("the record does not fit in a batch")]
    RecordTooLarge,
    /// Compression failed; with memory as the target this means a fault of ours.
    #[error("compressing with {codec} failed")]
    Compress {
        /// The codec asked for.
        codec: Codec,
    },
}

/// What is wrong with one record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordFault {
    /// A field reaches past the record, or the record past the data.
    #[error("a field reaches past the end")]
    Overrun,
    /// A varint has more bytes or bits than its type.
    #[error("a varint is too long")]
    VarintTooLong,
    /// A length or count is negative where that means nothing.
    #[error("a length is negative")]
    LengthNegative,
    /// Bytes are left inside the record after its last field.
    #[error("bytes are left after the last field")]
    Leftover,
    /// The offset delta is negative, or not the record's place where it must be.
    #[error("the offset delta is not the record's place")]
    OffsetDelta,
    /// The timestamp is beyond what 64 bits hold.
    #[error("the timestamp overflows")]
    TimestampOverflow,
}

impl RecordsError {
    /// What the caller may do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Truncated { .. } | Self::LengthInvalid { .. } | Self::CrcMismatch { .. } => {
                ErrorKind::Corrupt
            }
            Self::Compress { .. } => ErrorKind::Bug,
            _ => ErrorKind::Invalid,
        }
    }

    /// A fault of a record whose place the caller fills in with [`Self::at`].
    pub(crate) fn fault(fault: RecordFault) -> Self {
        Self::Record { index: 0, fault }
    }

    /// The same error, told of the record at `index`.
    pub(crate) fn at(self, index: u32) -> Self {
        match self {
            Self::Record { fault, .. } => Self::Record { index, fault },
            other => other,
        }
    }
}
