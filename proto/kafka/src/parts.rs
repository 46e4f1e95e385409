//! `Parts`: a frame as the list of buffers that a vectored write sends.
//!
//! Invariant: `remaining` is the sum of the lengths of the parts not yet taken; no part is empty.

use std::io::IoSlice;

use bytes::{Buf, Bytes, BytesMut};

/// A frame ready to be sent. As a [`Buf`] it feeds `write_all_buf`, which writes vectored where the
/// socket can.
#[derive(Clone, Default, Debug)]
pub struct Parts {
    parts: Vec<Bytes>,
    /// The first part that is not yet taken.
    next: usize,
    remaining: usize,
}

impl Parts {
    /// The frame made of these buffers, in this order.
    #[must_use]
    pub fn new(mut parts: Vec<Bytes>) -> Self {
        parts.retain(|part| !part.is_empty());
        let remaining = parts.iter().map(Bytes::len).sum();
        Self { parts, next: 0, remaining }
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

    /// The buffers still to be sent.
    #[must_use]
    pub fn as_slices(&self) -> &[Bytes] {
        &self.parts[self.next..]
    }

    /// All that is still to be sent in one buffer. Copies, unless there is one part.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        match self.as_slices() {
            [] => Bytes::new(),
            [only] => only.clone(),
            many => {
                let mut all = BytesMut::with_capacity(self.remaining);
                many.iter().for_each(|part| all.extend_from_slice(part));
                all.freeze()
            }
        }
    }
}

impl Buf for Parts {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.as_slices().first().map_or(&[], |part| part)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slice, part) in slices.iter_mut().zip(self.as_slices()) {
            *slice = IoSlice::new(part);
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
                part.advance(count);
                return;
            }
            count -= part.len();
            *part = Bytes::new();
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
