//! One `ErrorKind` for all: what a caller may do about an error.

use std::fmt;

/// What a caller may do. Every error type of Tidemill has a `kind()` that answers one of these.
///
/// A new kind needs a decision record: clients, metrics and the table of Kafka codes depend on them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ErrorKind {
    /// It did not happen; the same call may succeed later.
    Retry,
    /// It did not happen, because a limit is reached; the same call may succeed later, slower.
    Throttled,
    /// It may have happened. Only a call that is safe to repeat may be repeated.
    Ambiguous,
    /// It did not happen, because the thing changed meanwhile; read it again first.
    Conflict,
    /// It did not happen and never will: someone newer has taken the caller's place.
    Fenced,
    /// The call is wrong as it is.
    Invalid,
    /// The thing named does not exist.
    NotFound,
    /// The caller may not do this.
    Denied,
    /// Stored or received bytes are not what they should be.
    Corrupt,
    /// The other side has been shut down.
    Closed,
    /// An assumption of our own does not hold.
    Bug,
}

impl ErrorKind {
    /// Whether the same call may be repeated without asking anything first.
    #[must_use]
    pub fn is_retriable(self) -> bool {
        matches!(self, Self::Retry | Self::Throttled)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retry => "retry",
            Self::Throttled => "throttled",
            Self::Ambiguous => "ambiguous",
            Self::Conflict => "conflict",
            Self::Fenced => "fenced",
            Self::Invalid => "invalid",
            Self::NotFound => "not found",
            Self::Denied => "denied",
            Self::Corrupt => "corrupt",
            Self::Closed => "closed",
            Self::Bug => "bug",
        })
    }
}
