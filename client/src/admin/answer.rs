//! What brokers answer, item by item.

use tidemill_base::ErrorKind;
use tidemill_kafka::{ErrorCode, KString};

use crate::admin::Answers;
use crate::error::{Error, Result};

/// The first code that `asks_again`, or success.
pub(crate) fn first(
    codes: impl IntoIterator<Item = ErrorCode>,
    asks_again: impl Fn(ErrorCode) -> bool,
) -> ErrorCode {
    codes.into_iter().find(|code| asks_again(*code)).unwrap_or(ErrorCode::NONE)
}

/// What a broker answered for one item.
pub(crate) fn outcome(what: String, code: ErrorCode, words: Option<&KString>) -> Result<()> {
    if code.is_ok() {
        return Ok(());
    }
    Err(Error::answered_saying(what, code, words.map(KString::as_str)))
}

/// The answer to a question about one item.
pub(crate) fn only<K, T>(answers: Answers<K, T>) -> Result<T> {
    let answer = answers.into_iter().next().map(|(_, answer)| answer);
    answer.unwrap_or_else(|| Err(Error::new(ErrorKind::Bug, "no answer to the one question")))
}

/// An item that is missing in an answer.
pub(crate) fn silent(item: impl std::fmt::Display) -> Error {
    let message = format!("the broker answered nothing about {item}; it may have taken effect");
    Error::new(ErrorKind::Ambiguous, message)
}
