//! What keeps a message from being written.

use tidemill_base::ErrorKind;

/// A message that has no form on the wire. Nothing of it may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// A string is longer than the 32,767 bytes that Kafka allows.
    #[error("string of {0} bytes is too long")]
    StringTooLong(usize),
    /// The frame, or one length in it, is beyond 2 GiB.
    #[error("{0} bytes are too many for a frame")]
    FrameTooLong(usize),
    /// The message does not exist in this version.
    #[error("version {0} not supported")]
    UnsupportedVersion(i16),
}

impl EncodeError {
    /// What a caller may do: the message is wrong as it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}
