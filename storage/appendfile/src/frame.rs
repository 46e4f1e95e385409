//! The append-file format: one file header, then frames one after another (pure).
//!
//! The layout is docs/formats/append-file.md. All integers are little-endian.
//!
//! Invariants:
//! - A frame's checksum starts from the checksum of the file's header and takes in the frame's own
//!   position. Bytes of another file, or of another place in this one, are therefore never taken for
//!   a frame, whatever blocks the file system hands out again.
//! - A frame has at least one byte, so a head of zeros is never a frame: it is preallocated space.
//! - A frame may have its checksum cover only a prefix of its payload, when the rest carries checksums
//!   of its own; such a frame is found whole or torn only as far as the prefix tells.
//!
//! Not here: reading and writing ([`crate::scan`], [`crate::append_file`]).

use bytes::{BufMut, Bytes, BytesMut};

mod header;
mod step;

pub use header::{FileHeader, HEADER_BYTES, HeaderError, IDENTITY_BYTES_MAX};
pub use step::{Step, TailVerdict, TornReason};

/// The bytes of a frame before its payload: length, covered bytes, checksum.
pub const FRAME_HEAD_BYTES: usize = 12;

/// How much of a frame's payload its checksum covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Covered {
    /// Every byte.
    All,
    /// This many first bytes; the others carry checksums of their own. Cut to the payload's length.
    Prefix(u32),
}

/// Seals and checks the frames of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameSeal {
    seed: u32,
}

impl FrameSeal {
    /// The seal of the file that begins with `header`.
    #[must_use]
    pub fn of(header: &FileHeader) -> Self {
        Self { seed: header.checksum() }
    }

    /// The head of a frame at `position` with this payload, or `None` if the payload is empty or
    /// longer than `u32::MAX` bytes.
    #[must_use]
    pub fn head(
        &self,
        position: u64,
        payload: &[Bytes],
        covered: Covered,
    ) -> Option<[u8; FRAME_HEAD_BYTES]> {
        let length: u32 = payload.iter().map(Bytes::len).sum::<usize>().try_into().ok()?;
        if length == 0 {
            return None;
        }
        let covered = match covered {
            Covered::All => length,
            Covered::Prefix(bytes) => bytes.min(length),
        };
        let mut crc = self.crc_of_head(position, length, covered);
        let mut left = covered as usize;
        for part in payload {
            let taken = part.len().min(left);
            crc = crc32c::crc32c_append(crc, &part[..taken]);
            left -= taken;
        }
        let mut head = [0; FRAME_HEAD_BYTES];
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..8].copy_from_slice(&covered.to_le_bytes());
        head[8..].copy_from_slice(&crc.to_le_bytes());
        Some(head)
    }

    /// A whole frame in one buffer: for small payloads and tests.
    #[must_use]
    pub fn frame(&self, position: u64, payload: &[u8]) -> Option<Bytes> {
        let body = [Bytes::copy_from_slice(payload)];
        let head = self.head(position, &body, Covered::All)?;
        let mut frame = BytesMut::with_capacity(FRAME_HEAD_BYTES + payload.len());
        frame.put_slice(&head);
        frame.put_slice(payload);
        Some(frame.freeze())
    }

    fn crc_of_head(&self, position: u64, length: u32, covered: u32) -> u32 {
        let mut fields = [0; 16];
        fields[..8].copy_from_slice(&position.to_le_bytes());
        fields[8..12].copy_from_slice(&length.to_le_bytes());
        fields[12..].copy_from_slice(&covered.to_le_bytes());
        crc32c::crc32c_append(self.seed, &fields)
    }
}

#[cfg(test)]
mod frame_test;
