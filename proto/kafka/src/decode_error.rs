//! What is wrong with bytes that should have been a message.

use tidemill_base::ErrorKind;

/// A frame that cannot be read: why, in which field, and where.
///
/// Nothing was changed by it. The sender's bytes are wrong; sending them again does not help.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field}: {reason} at byte {at}")]
pub struct DecodeError {
    /// What is wrong.
    pub reason: DecodeReason,
    /// The innermost field that was being read, as `Struct.field`.
    pub field: &'static str,
    /// How many bytes of the frame had been read.
    pub at: usize,
}

/// What is wrong with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeReason {
    /// Fewer bytes remain than the value takes.
    #[error("the frame ends too early")]
    Truncated,
    /// A length or count is below -1.
    #[error("negative length")]
    NegativeLength,
    /// More elements are announced than the remaining bytes can hold.
    #[error("more elements than the remaining bytes can hold")]
    CountTooLarge,
    /// The decoded message would take more memory than one frame may.
    #[error("the message would take more memory than allowed")]
    MemoryTooLarge,
    /// Null where this version has no null.
    #[error("null is not allowed in this version")]
    UnexpectedNull,
    /// A string is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// A string is longer than the 32,767 bytes that Kafka allows.
    #[error("string too long")]
    StringTooLong,
    /// A varint is longer than five bytes.
    #[error("varint too long")]
    VarintTooLong,
    /// A tagged field's value is shorter than its announced size.
    #[error("a tagged field does not fill its size")]
    TaggedFieldSize,
    /// Bytes remain behind the message.
    #[error("bytes remain behind the message")]
    TrailingBytes,
    /// The message does not exist in this version.
    #[error("version not supported")]
    UnsupportedVersion,
}

impl DecodeError {
    /// The error with its field named, unless an inner field was named already.
    #[cold]
    pub(crate) fn in_field(mut self, field: &'static str) -> Self {
        if self.field.is_empty() {
            self.field = field;
        }
        self
    }

    /// What a caller may do: `Invalid` for a version that does not exist and for a message beyond
    /// the memory limit, `Corrupt` for all else.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.reason {
            DecodeReason::UnsupportedVersion | DecodeReason::MemoryTooLarge => ErrorKind::Invalid,
            _ => ErrorKind::Corrupt,
        }
    }
}
