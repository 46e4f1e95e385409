//! What can go wrong, and what the caller may do about it.

use std::path::Path;

use tidemill_appendfile::DiskError;
use tidemill_base::ErrorKind;

/// Why a member could not be opened.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct OpenError {
    kind: ErrorKind,
    message: String,
}

impl OpenError {
    pub(crate) fn new(kind: ErrorKind, message: String) -> Self {
        Self { kind, message }
    }

    #[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
    pub(crate) fn disk(error: DiskError) -> Self {
        Self::new(error.kind, format!("metadata log: {error}"))
    }

    #[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
    pub(crate) fn store(error: StoreError) -> Self {
        Self::new(error.kind, format!("metadata state: {error}"))
    }

    /// `Corrupt`: stored bytes are damaged and nothing was changed. `Invalid`: an option is wrong.
    /// `Denied`: the data belongs to another cluster or member. Others: what the disk said.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

/// What went wrong with the saved state.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{operation}: {reason}")]
pub struct StoreError {
    /// What was tried, as a verb: "save", "load".
    pub operation: &'static str,
    /// What the store said.
    pub reason: String,
    /// What the caller may do.
    pub kind: ErrorKind,
}

impl StoreError {
    /// The same, naming the file in which it happened.
    #[must_use]
    pub(crate) fn in_file(mut self, path: &Path) -> Self {
        self.reason = format!("{}: {}", path.display(), self.reason);
        self
    }
}

/// Why a proposal has no outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// The queue is full. It will not be applied; the same call may succeed later.
    #[error("too many proposals are waiting")]
    Throttled,
    /// The command is larger than [`crate::options::COMMAND_BYTES_MAX`].
    #[error("the command is larger than 1 MiB")]
    TooLarge,
    /// It was not and will not be applied, because this member does not lead; ask another one.
    #[error("this member does not lead the metadata quorum")]
    NotLeader,
    /// It may be or become applied. Only a command that is safe to repeat may be repeated.
    #[error("the outcome is not known")]
    Ambiguous,
    /// This member was shut down before it took the proposal.
    #[error("the metadata log is closed")]
    Closed,
}

impl ProposeError {
    /// What the caller may do.
    #[must_use]
    pub fn kind(self) -> ErrorKind {
        match self {
            Self::Throttled => ErrorKind::Throttled,
            Self::TooLarge => ErrorKind::Invalid,
            Self::NotLeader => ErrorKind::Retry,
            Self::Ambiguous => ErrorKind::Ambiguous,
            Self::Closed => ErrorKind::Closed,
        }
    }
}
