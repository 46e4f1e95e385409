//! `Parts`: a frame as the list of pieces that are sent one after another.
//!
//! Invariant: `remaining` is the sum of the lengths of the parts not yet taken; no part is empty.

use std::io::IoSlice;

use bytes::{Buf, Bytes, BytesMut};
use tidemill_base::FileRange;

use crate::record_parts::Kept;

/// A piece of a frame.
#[derive(Clone, Debug)]
pub enum Part {
    /// Bytes in memory.
    Shared(Bytes),
    /// Bytes that the socket takes from an open file.
    Lent(FileRange),
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Self::Shared(bytes) => bytes.len(),
            Self::Lent(range) => range.len(),
        }
    }
}

impl From<Bytes> for Part {
    fn from(bytes: Bytes) -> Self {
        Self::Shared(bytes)
    }
}

/// A frame ready to be sent. Without lent parts, as every request is, it feeds `write_all_buf` as a
/// [`Buf`]; who sends frames that may have some looks at [`Parts::front`].
#[derive(Clone, Default, Debug)]
pub struct Parts {
    parts: Vec<Part>,
    /// The first part that is not yet taken.
    next: usize,
    remaining: usize,
    /// See [`Parts::own_bytes`].
    own_bytes: usize,
    /// Gone with the frame.
    kept: Vec<Kept>,
}

impl Parts {
    /// The frame made of these buffers, in this order.
    #[must_use]
    pub fn new(parts: Vec<Bytes>) -> Self {
        parts.into_iter().map(Part::Shared).collect()
    }

    /// Keeps `kept` until the frame is gone.
    pub(crate) fn keep(&mut self, kept: Vec<Kept>) {
        self.kept = kept;
    }

    /// How many bytes of the whole frame are in memory for it alone: all but records.
    #[must_use]
    pub fn own_bytes(&self) -> usize {
        self.own_bytes
    }

    /// Keeps `share`, which stands for [`Parts::own_bytes`], until the frame is gone. They count as none
    /// from now on.
    pub fn keep_own(&mut self, share: Kept) {
        self.kept.push(share);
        self.own_bytes = 0;
    }

    /// So many of the bytes are records, which are shared, or lie in files.
    pub(crate) fn set_record_bytes(&mut self, bytes: usize) {
        self.own_bytes = self.remaining.saturating_sub(bytes);
    }

    /// How many bytes are still to be sent.
    #[must_use]
    pub fn len(&self) -> usize {
        self.remaining
    }

    /// Whether everything has been sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// The parts still to be sent.
    #[must_use]
    pub fn left(&self) -> &[Part] {
        &self.parts[self.next..]
    }

    /// The part to be sent next.
    #[must_use]
    pub fn front(&self) -> Option<&Part> {
        self.left().first()
    }

    /// All that is still to be sent in one buffer. Copies, unless there is one part in memory; reads
    /// what is lent, which may block, and is empty if that cannot be read.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        if let [Part::Shared(only)] = self.left() {
            return only.clone();
        }
        let mut all = BytesMut::with_capacity(self.remaining);
        for part in self.left() {
            match part {
                Part::Shared(bytes) => all.extend_from_slice(bytes),
                Part::Lent(range) => match range.read() {
                    Ok(bytes) => all.extend_from_slice(&bytes),
                    Err(_) => return Bytes::new(),
                },
            }
        }
        all.freeze()
    }
}

impl FromIterator<Part> for Parts {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Self {
        let parts: Vec<Part> = parts.into_iter().filter(|part| part.len() > 0).collect();
        let remaining = parts.iter().map(Part::len).sum();
        let in_memory = parts.iter().filter(|part| matches!(part, Part::Shared(_)));
        let own_bytes = in_memory.map(Part::len).sum();
        Self { parts, next: 0, remaining, own_bytes, kept: Vec::new() }
    }
}

/// The bytes in memory up to the first lent part.
impl Buf for Parts {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        match self.front() {
            Some(Part::Shared(bytes)) => bytes,
            _ => &[],
        }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slice, part) in slices.iter_mut().zip(self.left()) {
            let Part::Shared(bytes) = part else { break };
            *slice = IoSlice::new(bytes);
            filled += 1;
        }
        filled
    }

    /// Releases what has been sent.
    ///
    /// # Panics
    /// If `count` is more than what remains, as [`Buf`] asks.
    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.remaining, "advanced past the end of the frame");
        self.remaining -= count;
        while let Some(part) = self.parts.get_mut(self.next) {
            if count < part.len() {
                match part {
                    Part::Shared(bytes) => bytes.advance(count),
                    Part::Lent(range) => range.advance(count),
                }
                return;
            }
            count -= part.len();
            *part = Part::Shared(Bytes::new());
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Parts {
        Parts::new(vec![
            Bytes::from_static(b"abc"),
            Bytes::new(),
            Bytes::from_static(b"de"),
            Bytes::from_static(b"f"),
        ])
    }

    #[test]
    fn advancing_crosses_parts_and_keeps_the_rest_in_order() {
        for count in 0..=6 {
            let mut p = parts();
            p.advance(count);
            assert_eq!(p.len(), 6 - count);
            assert_eq!(p.to_bytes(), &b"abcdef"[count..]);
            assert_eq!(p.chunk().is_empty(), count == 6);
        }
    }

    #[test]
    fn vectored_chunks_are_the_parts_not_yet_sent() {
        let mut p = parts();
        p.advance(1);
        let mut slices = [IoSlice::new(&[]); 8];
        assert_eq!(p.chunks_vectored(&mut slices), 3);
        assert_eq!(&*slices[0], b"bc");
        assert_eq!(&*slices[2], b"f");
    }
}
