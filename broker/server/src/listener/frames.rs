//! Frames out of a stream of bytes.
//!
//! Invariants:
//! - An idle connection holds no buffer.
//! - Memory grows with bytes received, not with the length that a frame claims.
//! - Frames are slices of the buffer they arrived in, so that record bytes are not copied. A slice
//!   keeps its whole buffer alive for as long as the records are cached; so a frame that is small
//!   beside its buffer is copied out instead, and no slice keeps more than
//!   [`BUFFER_PER_FRAME_MAX`] times its own length.

use bytes::{Buf, Bytes, BytesMut};

/// What one read asks for at first, and at most.
const READ_BYTES_MIN: usize = 16 << 10;
const READ_BYTES_MAX: usize = 64 << 10;
/// How much larger than a frame the buffer may be that it keeps alive.
const BUFFER_PER_FRAME_MAX: usize = 4;
/// A frame up to this length gets its whole buffer at once.
const EAGER_FRAME_BYTES_MAX: usize = 1 << 20;

/// Why the bytes cannot be frames.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum FrameError {
    #[error(
        "a frame of {length} bytes was announced, the limit is {max} (socket.request.max.bytes)"
    )]
    TooLong { length: u32, max: u32 },
    #[error("this looks like {0}, but the listener speaks plain Kafka")]
    OtherProtocol(&'static str),
}

/// Collects bytes and cuts frames off.
#[derive(Debug)]
pub(crate) struct Frames {
    buffer: BytesMut,
    /// The size of the allocation behind `buffer`.
    allocated: usize,
    read_bytes: usize,
    request_bytes_max: u32,
}

impl Frames {
    pub(crate) fn new(request_bytes_max: u32) -> Self {
        let buffer = BytesMut::new();
        Self { buffer, allocated: 0, read_bytes: READ_BYTES_MIN, request_bytes_max }
    }

    /// The next whole frame, without its length.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(length) = self.announced()? else { return Ok(None) };
        if self.buffer.len() < 4 + length {
            return Ok(None);
        }
        self.buffer.advance(4);
        if length * BUFFER_PER_FRAME_MAX < self.allocated {
            let frame = Bytes::copy_from_slice(&self.buffer[..length]);
            self.buffer.advance(length);
            return Ok(Some(frame));
        }
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    /// How many bytes the begun frame will take, if it is so large that its memory must be granted
    /// before it arrives.
    pub(crate) fn large_frame_bytes(&self) -> Option<usize> {
        let length = self.announced().ok()??;
        is_large(length).then_some(4 + length)
    }

    /// Whether a frame has been begun.
    pub(crate) fn is_mid_frame(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// A buffer with room to read into. Call only when bytes are there to be read.
    pub(crate) fn room(&mut self) -> Result<&mut BytesMut, FrameError> {
        let missing = match self.announced()? {
            Some(length) => (4 + length).saturating_sub(self.buffer.len()),
            None => 0,
        };
        let step = self.buffer.len().max(EAGER_FRAME_BYTES_MAX);
        let wanted = missing.min(step).max(self.read_bytes);
        if self.buffer.capacity() - self.buffer.len() < missing.min(step).max(READ_BYTES_MIN / 4) {
            self.buffer.reserve(wanted);
            self.allocated = self.buffer.capacity();
        }
        Ok(&mut self.buffer)
    }

    /// Tells how much the last read brought, out of how much it could have.
    pub(crate) fn adapt(&mut self, read: usize, room: usize) {
        if read == room {
            self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
        } else if read < self.read_bytes / 4 {
            self.read_bytes = (self.read_bytes / 2).max(READ_BYTES_MIN);
        }
    }

    /// Lets go of the buffer if no frame is begun. What was cut off lives on its own.
    pub(crate) fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
            self.allocated = 0;
        }
    }

    fn announced(&self) -> Result<Option<usize>, FrameError> {
        let Some(head) = self.buffer.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*head);
        if length <= self.request_bytes_max {
            return Ok(Some(length as usize));
        }
        Err(match head {
            [0x16, 0x03, ..] => FrameError::OtherProtocol("TLS"),
            b"GET " | b"POST" | b"HEAD" | b"PUT " => FrameError::OtherProtocol("HTTP"),
            _ => FrameError::TooLong { length, max: self.request_bytes_max },
        })
    }
}

/// Whether a frame is so large that its memory must be granted before it arrives.
pub(crate) fn is_large(length: usize) -> bool {
    length > READ_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(frames: &mut Frames, bytes: &[u8]) {
        frames.room().unwrap().extend_from_slice(bytes);
    }

    #[test]
    fn frames_are_cut_wherever_the_bytes_break() {
        let wire = b"\0\0\0\x03abc\0\0\0\0\0\0\0\x01z";
        for cut in 0..wire.len() {
            let mut frames = Frames::new(100);
            let mut got = Vec::new();
            for piece in [&wire[..cut], &wire[cut..]] {
                feed(&mut frames, piece);
                while let Some(frame) = frames.next().unwrap() {
                    got.push(frame);
                }
            }
            assert_eq!(got, [&b"abc"[..], b"", b"z"]);
            assert!(!frames.is_mid_frame());
        }
    }

    #[test]
    fn a_giant_length_is_refused_and_reserves_nothing() {
        let mut frames = Frames::new(1000);
        feed(&mut frames, b"\x7f\xff\xff\xff");
        assert!(matches!(frames.next(), Err(FrameError::TooLong { .. })));
        assert!(frames.room().is_err());
        let mut frames = Frames::new(64 << 20);
        feed(&mut frames, &(60_u32 << 20).to_be_bytes());
        frames.room().unwrap();
        assert!(frames.buffer.capacity() <= 4 * EAGER_FRAME_BYTES_MAX);
    }

    #[test]
    fn other_protocols_are_named() {
        for (bytes, name) in [(&b"GET / HTTP/1.1"[..], "HTTP"), (b"\x16\x03\x01\x02", "TLS")] {
            let mut frames = Frames::new(1000);
            feed(&mut frames, bytes);
            assert_eq!(frames.next(), Err(FrameError::OtherProtocol(name)));
        }
    }
}
