//! Frames out of a stream of bytes.
//!
//! Invariants:
//! - An idle connection holds no buffer, and one that waits with less than [`FREE_BYTES`] of a frame
//!   holds no more than these bytes.
//! - Memory grows with bytes received, not with the length that a frame claims; only a frame whose
//!   memory is granted gets its whole buffer at once.
//! - A frame keeps at most [`PINNED_PER_FRAME_QUARTERS_MAX`] quarters of its own length alive, for as
//!   long as any of its records is cached: it owns a buffer of its size, or it is copied out.
//!
//! Non-obvious: large frames are not copied, and neither are those of a connection whose frames come
//! in one size, since the next read is made as large as the last frame.

use bytes::buf::Limit;
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// What a read asks for at first, and at most.
const READ_BYTES_MIN: usize = 16 << 10;
pub(super) const READ_BYTES_MAX: usize = 64 << 10;
/// The most that a frame keeps alive, in quarters of its own length.
const PINNED_PER_FRAME_QUARTERS_MAX: usize = 5;
/// A frame from this length on is read into a buffer of its own; copying less is cheaper than one
/// more read.
const OWN_BUFFER_BYTES_MIN: usize = 8 << 10;
/// What is read of a frame that is expected to be large, before its memory is asked for.
const FIRST_BYTES: usize = 4 << 10;
/// What a connection may hold of a frame without being counted.
pub(super) const FREE_BYTES: usize = 1 << 10;

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

/// How much a read may bring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Appetite {
    /// Whatever is there, up to [`READ_BYTES_MAX`].
    Plenty,
    /// The rest of the begun frame, whose memory is granted.
    ThisFrame,
    /// No more than makes [`FREE_BYTES`] with what is held.
    Little,
}

/// Collects bytes and cuts frames off.
#[derive(Debug)]
pub(crate) struct Frames {
    buffer: BytesMut,
    /// The size of the allocation behind `buffer`.
    allocated: usize,
    read_bytes: usize,
    /// What the last frame took, and what the next one will take if it is about as long.
    last_bytes: usize,
    expected_bytes: Option<usize>,
    request_bytes_max: u32,
}

impl Frames {
    pub(crate) fn new(request_bytes_max: u32) -> Self {
        Self {
            buffer: BytesMut::new(),
            allocated: 0,
            read_bytes: READ_BYTES_MIN,
            last_bytes: 0,
            expected_bytes: None,
            request_bytes_max,
        }
    }

    /// The length of the next frame, if it is whole.
    pub(crate) fn whole(&self) -> Result<Option<usize>, FrameError> {
        let length = self.announced()?;
        Ok(length.filter(|length| self.buffer.len() >= 4 + length))
    }

    /// Cuts off the next frame, which is whole, without its length.
    pub(crate) fn take(&mut self, length: usize) -> Bytes {
        self.expect(4 + length);
        self.buffer.advance(4);
        if length * PINNED_PER_FRAME_QUARTERS_MAX >= self.allocated * 4 {
            return self.buffer.split_to(length).freeze();
        }
        let frame = Bytes::copy_from_slice(&self.buffer[..length]);
        self.buffer.advance(length);
        frame
    }

    fn expect(&mut self, bytes: usize) {
        let slack = bytes / 8;
        self.expected_bytes = match self.last_bytes.abs_diff(bytes) {
            0 => Some(bytes),
            difference => (difference <= slack).then_some(bytes + slack),
        };
        self.last_bytes = bytes;
    }

    /// How many bytes the begun frame will take, if it is so large that its memory must be granted
    /// in one piece before it arrives.
    pub(crate) fn large_frame_bytes(&self) -> Option<usize> {
        let length = self.announced().ok()??;
        (length > READ_BYTES_MAX).then_some(4 + length)
    }

    /// Whether a frame has been begun.
    pub(crate) fn is_mid_frame(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// A place to read into. Call only when bytes are there to be read. With
    /// [`Appetite::ThisFrame`] a frame must have been begun.
    pub(crate) fn room(&mut self, appetite: Appetite) -> Result<Limit<&mut BytesMut>, FrameError> {
        let held = self.buffer.len();
        let whole = self.announced()?.map(|length| 4 + length);
        let missing = whole.map_or(0, |whole| whole.saturating_sub(held));
        let spare = self.buffer.capacity() - held;
        let limit = match appetite {
            Appetite::Plenty => {
                let wanted = if missing > 0 { missing } else { READ_BYTES_MIN / 4 };
                if spare < wanted {
                    self.make_plenty(whole);
                }
                usize::MAX
            }
            Appetite::ThisFrame => {
                if spare < missing {
                    self.replace(held + missing);
                }
                missing
            }
            Appetite::Little => {
                let little = FREE_BYTES.saturating_sub(held);
                if spare < little {
                    self.replace(FREE_BYTES);
                }
                little
            }
        };
        Ok((&mut self.buffer).limit(limit))
    }

    fn make_plenty(&mut self, whole: Option<usize>) {
        let held = self.buffer.len();
        match whole {
            Some(whole) if whole >= OWN_BUFFER_BYTES_MIN => self.replace(whole),
            Some(whole) => {
                let wanted = whole.max(self.read_bytes);
                if !self.buffer.try_reclaim(wanted - held.min(wanted)) {
                    self.replace(wanted);
                }
            }
            None => self.replace(held + self.next_read_bytes()),
        }
    }

    /// What to ask for when no frame has been begun: about the size of the next frame if those before
    /// had one, so that it owns its buffer and nothing of the frame behind has to be moved.
    fn next_read_bytes(&self) -> usize {
        match self.expected_bytes {
            Some(bytes) if bytes > READ_BYTES_MAX => FIRST_BYTES,
            Some(bytes) if bytes >= OWN_BUFFER_BYTES_MIN => bytes,
            _ => self.read_bytes,
        }
    }

    fn replace(&mut self, capacity: usize) {
        let mut buffer = BytesMut::with_capacity(capacity);
        buffer.extend_from_slice(&self.buffer);
        self.allocated = buffer.capacity();
        self.buffer = buffer;
    }

    /// Tells how much the last read brought, out of how much it could have.
    pub(crate) fn adapt(&mut self, read: usize, room: usize) {
        if read == room {
            self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
        } else if read < self.read_bytes / 4 {
            self.read_bytes = (self.read_bytes / 2).max(READ_BYTES_MIN);
        }
    }

    /// Lets go of what need not be kept while the connection waits. Answers how many bytes the rest
    /// takes, now and until the begun frame is whole; those of a large frame only as far as they are
    /// not in its own buffer. What was cut off lives on its own.
    pub(crate) fn settle(&mut self) -> usize {
        let held = self.buffer.len();
        if held == 0 {
            self.buffer = BytesMut::new();
            self.allocated = 0;
            return 0;
        }
        let large = self.large_frame_bytes();
        if large.is_some_and(|bytes| self.allocated >= bytes) {
            return 0;
        }
        if held < FREE_BYTES {
            if self.allocated > FREE_BYTES {
                self.replace(held);
            }
            return 0;
        }
        let whole = self.announced().ok().flatten().map_or(0, |length| 4 + length);
        if large.is_some() { self.allocated } else { self.allocated.max(whole) }
    }

    /// Gives the begun frame, whose memory is granted, a buffer of its own.
    pub(crate) fn own(&mut self) {
        if let Some(bytes) = self.large_frame_bytes()
            && self.allocated < bytes
        {
            self.replace(bytes);
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

#[cfg(test)]
mod tests;
