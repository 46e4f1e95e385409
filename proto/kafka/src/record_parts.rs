//! `RecordParts`: the record bytes of a partition as a list of shared buffers.
//!
//! A stored batch is immutable and shared; only its first 16 bytes (base offset, length, partition
//! leader epoch) differ from what was stored. So a fetch response lists, per batch, a head by value
//! and a body by reference, and nothing of the body is copied on its way to the socket.

use std::any::Any;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tidemill_base::FileRange;

/// How many bytes of a batch are written by the broker when it serves the batch: base offset (8),
/// length (4) and partition leader epoch (4).
pub const BATCH_HEAD_BYTES: usize = 16;

/// Something that lives as long as the bytes it stands for are in memory: a share of a budget.
pub type Kept = Arc<dyn Any + Send + Sync>;

/// A piece of record bytes.
#[derive(Clone, Debug)]
pub enum RecordPart {
    /// The first bytes of a batch, held by value and copied into the frame.
    Head([u8; BATCH_HEAD_BYTES]),
    /// Shared bytes, written without a copy.
    Shared(Bytes),
    /// Whole batches in an open file, their heads as they are served.
    Lent(FileRange),
}

/// Record bytes in pieces. Two values are equal when their bytes are, however they are cut.
#[derive(Clone, Default, Debug)]
pub struct RecordParts {
    parts: Vec<RecordPart>,
    len: usize,
    kept: Option<Kept>,
}

impl RecordParts {
    /// No bytes. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self { parts: Vec::new(), len: 0, kept: None }
    }

    /// No bytes, with room for `batches` pushes of [`RecordParts::push_batch`].
    #[must_use]
    pub fn with_batches(batches: usize) -> Self {
        Self { parts: Vec::with_capacity(2 * batches), len: 0, kept: None }
    }

    /// Adds shared bytes.
    pub fn push(&mut self, bytes: Bytes) {
        self.len += bytes.len();
        self.parts.push(RecordPart::Shared(bytes));
    }

    /// Adds a batch: its 16 head bytes and the stored bytes that follow them.
    pub fn push_batch(&mut self, head: [u8; BATCH_HEAD_BYTES], body: Bytes) {
        self.len += BATCH_HEAD_BYTES;
        self.parts.push(RecordPart::Head(head));
        self.push(body);
    }

    /// Adds whole batches that the socket takes from a file.
    pub fn push_lent(&mut self, range: FileRange) {
        self.len += range.len();
        self.parts.push(RecordPart::Lent(range));
    }

    /// Keeps `kept` until these bytes, or the frame they are written into, are gone.
    pub fn keep(&mut self, kept: Kept) {
        self.kept = Some(kept);
    }

    /// What is kept with the bytes.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// The length of all pieces in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The pieces in order.
    pub fn iter(&self) -> impl Iterator<Item = &RecordPart> {
        self.parts.iter()
    }

    /// All bytes in one buffer. Without a copy if there is one shared piece, as after decoding.
    /// Reads what is lent, which may block, and is empty if that cannot be read.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        match self.parts.as_slice() {
            [] => Bytes::new(),
            [RecordPart::Shared(only)] => only.clone(),
            many => {
                let mut all = BytesMut::with_capacity(self.len);
                for part in many {
                    match part {
                        RecordPart::Head(head) => all.extend_from_slice(head),
                        RecordPart::Shared(bytes) => all.extend_from_slice(bytes),
                        RecordPart::Lent(range) => match range.read() {
                            Ok(bytes) => all.extend_from_slice(&bytes),
                            Err(_) => return Bytes::new(),
                        },
                    }
                }
                all.freeze()
            }
        }
    }
}

impl From<Bytes> for RecordParts {
    fn from(bytes: Bytes) -> Self {
        let mut parts = Self::new();
        if !bytes.is_empty() {
            parts.push(bytes);
        }
        parts
    }
}

impl PartialEq for RecordParts {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.to_bytes() == other.to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_ignores_how_the_bytes_are_cut() {
        let mut cut = RecordParts::new();
        cut.push_batch(*b"0123456789abcdef", Bytes::from_static(b"xyz"));
        let whole = RecordParts::from(Bytes::from_static(b"0123456789abcdefxyz"));
        assert_eq!(cut, whole);
        assert_eq!(cut.len(), 19);
        assert_eq!(cut.to_bytes(), whole.to_bytes());
        assert_ne!(cut, RecordParts::from(Bytes::from_static(b"0123456789abcdefxyZ")));
    }

    #[test]
    fn a_single_shared_piece_is_given_back_without_a_copy() {
        let bytes = Bytes::from_static(b"batch");
        assert_eq!(RecordParts::from(bytes.clone()).to_bytes().as_ptr(), bytes.as_ptr());
    }
}
