//! What can be wrong with the bytes of an object.

use tidemill_base::ErrorKind;

/// What is wrong with an object's bytes, or with what was to become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FormatError {
    /// There are fewer bytes than the object, or the part asked for, takes.
    #[error("{needed} bytes are needed, {available} are there")]
    Truncated {
        /// How many bytes it takes.
        needed: u64,
        /// How many there are.
        available: u64,
    },
    /// The bytes do not begin as such an object does.
    #[error("this is not {expected}")]
    WrongMagic {
        /// What was expected, in words.
        expected: &'static str,
    },
    /// The object was written by a later version of this program.
    #[error("version {version} is not known")]
    UnsupportedVersion {
        /// The version found.
        version: u16,
    },
    /// The bytes are not those that were written.
    #[error("the checksum of {part} is {computed:#010x}, stored is {stored:#010x}")]
    ChecksumMismatch {
        /// Which part of the object.
        part: &'static str,
        /// The sum in the object.
        stored: u32,
        /// The sum of its bytes.
        computed: u32,
    },
    /// The bytes contradict themselves.
    #[error("{what}")]
    Inconsistent {
        /// What is wrong.
        what: &'static str,
    },
    /// What was to be encoded cannot be said in the format: a mistake of the caller.
    #[error("cannot be encoded: {what}")]
    NotEncodable {
        /// What is wrong.
        what: &'static str,
    },
}

impl FormatError {
    /// What the caller may do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::UnsupportedVersion { .. } => ErrorKind::Invalid,
            Self::NotEncodable { .. } => ErrorKind::Bug,
            _ => ErrorKind::Corrupt,
        }
    }
}
