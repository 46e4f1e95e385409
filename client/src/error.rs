//! The one error of the client: what the caller may do, what it is about, and Kafka's code if there
//! is one.
//!
//! - The kind says whether it happened: [`ErrorKind::Ambiguous`] is never folded into a retry.
//! - The message names the topic, partition, group or broker, and what to do where that is known.

use std::fmt;
use std::sync::Arc;

use tidemill_base::ErrorKind;
use tidemill_kafka::ErrorCode;

/// The result of a call to the client.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a call did not succeed. Cheap to clone: all records of a batch share one.
#[derive(Clone)]
pub struct Error(Arc<Details>);

struct Details {
    kind: ErrorKind,
    code: Option<ErrorCode>,
    message: String,
    source: Option<Source>,
}

impl Error {
    /// An error of this kind.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Details { kind, code: None, message: message.into(), source: None }))
    }

    /// An error of this kind with its cause.
    pub(crate) fn caused(
        kind: ErrorKind,
        message: impl Into<String>,
        source: impl Into<Source>,
    ) -> Self {
        let source = Some(source.into());
        Self(Arc::new(Details { kind, code: None, message: message.into(), source }))
    }

    /// What a broker answered to `what`, as in "create topic orders".
    pub(crate) fn answered(what: impl fmt::Display, code: ErrorCode) -> Self {
        Self::answered_saying(what, code, None)
    }

    /// What a broker answered to `what`, with the broker's own words if they say more than the code.
    pub(crate) fn answered_saying(
        what: impl fmt::Display,
        code: ErrorCode,
        words: Option<&str>,
    ) -> Self {
        let mut message = format!("{what}: {code}");
        if let Some(words) = words.filter(|words| !words.is_empty() && *words != code.description())
        {
            message.push_str(" (the broker says: ");
            message.push_str(words);
            message.push(')');
        }
        let kind = code.kind().unwrap_or(ErrorKind::Bug);
        Self(Arc::new(Details { kind, code: Some(code), message, source: None }))
    }

    /// The same error with what was being done in front of its message.
    #[must_use]
    pub(crate) fn during(self, what: impl fmt::Display) -> Self {
        let (kind, code) = (self.kind(), self.code());
        let message = format!("{what}: {}", self.0.message);
        Self(Arc::new(Details { kind, code, message, source: Some(Box::new(self)) }))
    }

    /// The same error with another kind and an advice behind its message.
    #[must_use]
    pub(crate) fn with_kind(self, kind: ErrorKind, advice: &str) -> Self {
        let message = format!("{}; {advice}", self.0.message);
        let code = self.code();
        Self(Arc::new(Details { kind, code, message, source: Some(Box::new(self)) }))
    }

    /// What the caller may do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Kafka's code, if a broker answered with one.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        self.0.code
    }

    /// Whether it certainly did not happen and the same call may succeed later. The client has
    /// then already repeated it until its time was up.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        self.kind() != ErrorKind::Ambiguous
            && (self.kind().is_retriable() || self.code().is_some_and(ErrorCode::is_retriable))
    }

    /// Whether the call may be repeated, given whether repeating it is harmless.
    pub(crate) fn may_repeat(&self, harmless: bool) -> bool {
        self.is_retriable() || harmless && self.kind() == ErrorKind::Ambiguous
    }

    /// Whether it came of metadata that may be out of date.
    pub(crate) fn asks_for_metadata(&self) -> bool {
        self.code().is_none_or(ErrorCode::is_retriable)
    }
}

/// Equal in what the caller sees; causes below are not compared.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        (self.kind(), self.code(), &self.0.message)
            == (other.kind(), other.code(), &other.0.message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}, {:?}", self.0.kind, self.0.message)?;
        if let Some(source) = &self.0.source {
            write!(f, ", {source:?}")?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message of a client's error already holds that of the client's error below it.
        let source = self.0.source.as_deref()?;
        match source.downcast_ref::<Self>() {
            Some(inner) => inner.source(),
            None => Some(source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_what_was_asked_the_code_and_the_brokers_words() {
        let error = Error::answered_saying(
            "create topic orders",
            ErrorCode::TOPIC_ALREADY_EXISTS,
            Some("it was there first"),
        );
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(
            error.to_string(),
            "create topic orders: TOPIC_ALREADY_EXISTS (36): a topic of this name exists \
             (the broker says: it was there first)"
        );
    }

    #[test]
    fn words_that_only_repeat_the_code_are_left_out() {
        let code = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
        let error = Error::answered_saying("delete topic t", code, Some(code.description()));
        assert_eq!(error, Error::answered("delete topic t", code));
    }

    #[test]
    fn what_may_have_happened_is_not_retriable_unless_harmless() {
        let error = Error::answered("produce to t-0", ErrorCode::REQUEST_TIMED_OUT);
        assert_eq!(error.kind(), ErrorKind::Ambiguous);
        assert!(!error.is_retriable());
        assert!(error.may_repeat(true) && !error.may_repeat(false));
    }

    #[test]
    fn moved_leaders_are_retriable_though_their_kind_is_conflict() {
        let error = Error::answered("fetch t-0", ErrorCode::NOT_LEADER_OR_FOLLOWER);
        assert!(error.is_retriable() && error.asks_for_metadata());
    }

    #[test]
    fn context_stands_in_front_and_keeps_kind_and_code() {
        let error = Error::answered("describe topic t", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)
            .during("reset offsets of group g");
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
        assert!(error.to_string().starts_with("reset offsets of group g: describe topic t: "));
        assert!(std::error::Error::source(&error).is_none());
    }
}
