//! A header of a record.

use bytes::Bytes;

/// A header of a record: a name, which may occur several times, and a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The name.
    pub key: String,
    /// The value; `None` is null.
    pub value: Option<Bytes>,
}

impl Header {
    /// A header with a value.
    #[must_use]
    pub fn new(key: impl Into<String>, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: Some(value.into()) }
    }
}
