//! Why a command failed, and what the user can do about it.
//!
//! The exit codes are an interface: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 the cluster is not
//! available (an error that may go away by itself).

use std::fmt;
use std::process::ExitCode;

use serde_json::json;
use tidemill_base::ErrorKind;

use crate::cli::OutputForm;
use crate::output::SCHEMA_VERSION;

/// What kind of failure it is: the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FailureKind {
    /// It did not work.
    Failed,
    /// It was asked in a way that cannot work.
    Usage,
    /// What was named does not exist.
    NotFound,
    /// The cluster did not answer, or cannot now.
    Unavailable,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: FailureKind,
    message: String,
    hint: Option<String>,
}

impl FailureKind {
    /// The process's exit code.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Unavailable => 4,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::Unavailable => "unavailable",
        }
    }
}

impl From<ErrorKind> for FailureKind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Retry | ErrorKind::Throttled | ErrorKind::Ambiguous | ErrorKind::Closed => {
                Self::Unavailable
            }
            ErrorKind::Conflict
            | ErrorKind::Fenced
            | ErrorKind::Invalid
            | ErrorKind::Denied
            | ErrorKind::Corrupt
            | ErrorKind::Bug => Self::Failed,
        }
    }
}

impl Failure {
    /// A failure of that kind.
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// It did not work.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Failed, message)
    }

    /// It was asked in a way that cannot work.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// What was named does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(FailureKind::NotFound, message)
    }

    /// With what the user can do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What kind it is.
    pub(crate) fn kind(&self) -> FailureKind {
        self.kind
    }

    /// The exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.exit_code())
    }

    /// As it is shown on standard error, in the form the command was asked to use.
    pub(crate) fn shown(&self, form: OutputForm) -> String {
        match form {
            OutputForm::Text => self.to_string(),
            OutputForm::Json => json!({
                "schema_version": SCHEMA_VERSION,
                "error": { "kind": self.kind.name(), "message": self.message, "hint": self.hint },
            })
            .to_string(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_errors_become_exit_codes() {
        let code = |kind: ErrorKind| FailureKind::from(kind).exit_code();
        assert_eq!(code(ErrorKind::NotFound), 3);
        assert_eq!(code(ErrorKind::Retry), 4);
        assert_eq!(code(ErrorKind::Invalid), 1);
    }

    #[test]
    fn both_forms_tell_message_and_hint() {
        let failure = Failure::not_found("no topic t").hint("create it");
        assert_eq!(failure.shown(OutputForm::Text), "error: no topic t\nhint: create it");
        assert_eq!(
            failure.shown(OutputForm::Json),
            r#"{"error":{"hint":"create it","kind":"not_found","message":"no topic t"},"schema_version":1}"#
        );
    }
}
