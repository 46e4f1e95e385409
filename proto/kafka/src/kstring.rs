//! `KString`: a string of a frame, shared with it instead of copied.
//!
//! Invariant: the bytes are valid UTF-8, checked when the value is made.
//!
//! A `KString` that was decoded keeps its whole frame alive. What outlives the request (a group's
//! member, a topic's name in a table) takes [`KString::detached`] or a `String`.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use bytes::Bytes;

/// A cheaply cloned, immutable UTF-8 string.
#[derive(Clone, Default)]
pub struct KString(Bytes);

impl KString {
    /// The empty string.
    #[must_use]
    pub const fn new() -> Self {
        Self(Bytes::new())
    }

    /// A string that lives for ever, without allocating.
    #[must_use]
    pub const fn from_static(text: &'static str) -> Self {
        Self(Bytes::from_static(text.as_bytes()))
    }

    /// The bytes as a string, or `None` if they are not UTF-8. Shares the bytes.
    #[must_use]
    pub fn from_utf8(bytes: Bytes) -> Option<Self> {
        std::str::from_utf8(&bytes).is_ok().then_some(Self(bytes))
    }

    /// The text. Checks the bytes again, so look it up once where it is used often.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("checked when the string was made")
    }

    /// The bytes of the text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A copy that does not keep the frame alive from which this string was decoded.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }
}

impl Deref for KString {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for KString {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for KString {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for KString {
    fn from(text: &str) -> Self {
        Self(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl From<String> for KString {
    fn from(text: String) -> Self {
        Self(Bytes::from(text.into_bytes()))
    }
}

impl From<&String> for KString {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&KString> for String {
    fn from(text: &KString) -> Self {
        text.as_str().to_owned()
    }
}

impl From<KString> for String {
    fn from(text: KString) -> Self {
        text.as_str().to_owned()
    }
}

impl PartialEq for KString {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for KString {}

impl PartialEq<str> for KString {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for KString {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<String> for KString {
    fn eq(&self, other: &String) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialOrd for KString {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KString {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl Hash for KString {
    /// As `str` hashes, because of `Borrow<str>`.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for KString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for KString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;

    #[test]
    fn maps_are_searched_with_plain_text() {
        let ordered = BTreeMap::from([(KString::from("events"), 1)]);
        let hashed = HashMap::from([(KString::from("events"), 1)]);
        assert_eq!(ordered.get("events"), Some(&1));
        assert_eq!(hashed.get("events"), Some(&1));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        assert_eq!(KString::from_utf8(Bytes::from_static(&[0xc3, 0x28])), None);
    }

    #[test]
    fn detached_text_has_bytes_of_its_own() {
        let frame = Bytes::from_static(b"..name..");
        let name = KString::from_utf8(frame.slice(2..6)).unwrap();
        let kept = name.detached();
        assert_eq!(kept, "name");
        assert_ne!(kept.as_bytes().as_ptr(), name.as_bytes().as_ptr());
    }
}
