//! `Reader`: takes values from a frame and never more than it holds.
//!
//! Invariants:
//! - No read passes `end`, which is the end of the frame or of the tagged field being read.
//! - What elements of arrays take in memory is paid from a budget, before it is allocated, because
//!   a struct of a hundred bytes may have been announced by three bytes on the wire.
//! - Strings and record bytes are slices of the frame; nothing is copied.

use bytes::Bytes;

use crate::decode_error::{DecodeError, DecodeReason};
use crate::kstring::KString;

/// How many bytes of memory the arrays of one decoded frame may take: 64 MiB. The largest honest
/// message, metadata of 100,000 partitions, takes about 16 MiB.
pub const DECODED_BYTES_MAX: usize = 64 << 20;

/// The longest string that Kafka allows, in bytes.
pub const STRING_BYTES_MAX: usize = i16::MAX as usize;

/// A position in a frame.
#[derive(Clone, Debug)]
pub struct Reader {
    frame: Bytes,
    at: usize,
    end: usize,
    memory_max: usize,
    memory_left: usize,
}

impl Reader {
    /// A reader at the first byte of a frame (without its four length bytes).
    #[must_use]
    pub fn new(frame: Bytes) -> Self {
        Self::with_memory_max(frame, DECODED_BYTES_MAX)
    }

    /// Like [`Reader::new`], with another limit for what the arrays may take, in bytes.
    #[must_use]
    pub fn with_memory_max(frame: Bytes, memory_max: usize) -> Self {
        let end = frame.len();
        Self { frame, at: 0, end, memory_max, memory_left: memory_max }
    }

    /// What the arrays read so far take in memory, in bytes.
    #[must_use]
    pub fn memory_used(&self) -> usize {
        self.memory_max - self.memory_left
    }

    /// How many bytes have been read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.end - self.at
    }

    /// An error unless every byte has been read.
    ///
    /// # Errors
    /// `TrailingBytes`. Kafka's own broker does not ask, so servers should not either.
    pub fn expect_end(&self) -> Result<(), DecodeError> {
        if self.remaining() == 0 { Ok(()) } else { Err(self.error(DecodeReason::TrailingBytes)) }
    }

    #[cold]
    pub(crate) fn error(&self, reason: DecodeReason) -> DecodeError {
        DecodeError { reason, field: "", at: self.at }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let found = self.frame[self.at..self.end].first_chunk::<N>().copied();
        match found {
            Some(bytes) => {
                self.at += N;
                Ok(bytes)
            }
            None => Err(self.error(DecodeReason::Truncated)),
        }
    }

    pub(crate) fn i8(&mut self) -> Result<i8, DecodeError> {
        self.array().map(i8::from_be_bytes)
    }

    pub(crate) fn i16(&mut self) -> Result<i16, DecodeError> {
        self.array().map(i16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, DecodeError> {
        self.array().map(i64::from_be_bytes)
    }

    pub(crate) fn uuid(&mut self) -> Result<uuid::Uuid, DecodeError> {
        self.array().map(uuid::Uuid::from_bytes)
    }

    /// An unsigned varint of at most 32 bits, low groups of seven first.
    pub(crate) fn uvarint(&mut self) -> Result<u32, DecodeError> {
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.array()?;
            let group = u32::from(byte & 0x7f);
            if shift == 28 && byte > 0x0f {
                return Err(self.error(DecodeReason::VarintTooLong));
            }
            value |= group << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.error(DecodeReason::VarintTooLong))
    }

    /// The length in front of a string: an `i16`, or a varint of the length plus one.
    pub(crate) fn string_length(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        if flexible {
            return Ok((self.uvarint()? as usize).checked_sub(1));
        }
        let length = self.i16()?;
        self.non_negative(i32::from(length))
    }

    /// The length in front of bytes or the count in front of an array: an `i32`, or a varint of it
    /// plus one.
    pub(crate) fn length(&mut self, flexible: bool) -> Result<Option<usize>, DecodeError> {
        if flexible {
            return Ok((self.uvarint()? as usize).checked_sub(1));
        }
        let length = self.i32()?;
        self.non_negative(length)
    }

    fn non_negative(&self, length: i32) -> Result<Option<usize>, DecodeError> {
        match length {
            -1 => Ok(None),
            _ => match usize::try_from(length) {
                Ok(length) => Ok(Some(length)),
                Err(_) => Err(self.error(DecodeReason::NegativeLength)),
            },
        }
    }

    /// The next `length` bytes, shared with the frame.
    pub(crate) fn bytes(&mut self, length: usize) -> Result<Bytes, DecodeError> {
        if length > self.remaining() {
            return Err(self.error(DecodeReason::Truncated));
        }
        let taken = self.frame.slice(self.at..self.at + length);
        self.at += length;
        Ok(taken)
    }

    /// The next `length` bytes as text.
    pub(crate) fn text(&mut self, length: usize) -> Result<KString, DecodeError> {
        if length > STRING_BYTES_MAX {
            return Err(self.error(DecodeReason::StringTooLong));
        }
        let bytes = self.bytes(length)?;
        KString::from_utf8(bytes).ok_or_else(|| self.error(DecodeReason::NotUtf8))
    }

    /// Checks that `count` elements, of at least `wire_bytes_min` each on the wire and
    /// `memory_bytes` each in memory, can be in what remains, and pays for their memory.
    pub(crate) fn claim(
        &mut self,
        count: usize,
        wire_bytes_min: usize,
        memory_bytes: usize,
    ) -> Result<(), DecodeError> {
        if count > self.remaining() / wire_bytes_min.max(1) {
            return Err(self.error(DecodeReason::CountTooLarge));
        }
        match self.memory_left.checked_sub(count.saturating_mul(memory_bytes)) {
            Some(left) => {
                self.memory_left = left;
                Ok(())
            }
            None => Err(self.error(DecodeReason::MemoryTooLarge)),
        }
    }

    /// Reads the tagged fields that end a flexible struct. `known` reads the value of a tag that it
    /// knows and answers true, or reads nothing and answers false; unknown values are skipped.
    pub(crate) fn tagged_fields(
        &mut self,
        mut known: impl FnMut(u32, &mut Self) -> Result<bool, DecodeError>,
    ) -> Result<(), DecodeError> {
        let count = self.uvarint()?;
        for _ in 0..count {
            let tag = self.uvarint()?;
            let size = self.uvarint()? as usize;
            if size > self.remaining() {
                return Err(self.error(DecodeReason::Truncated));
            }
            let outer_end = self.end;
            self.end = self.at + size;
            if known(tag, self)? {
                if self.at != self.end {
                    return Err(self.error(DecodeReason::TaggedFieldSize));
                }
            } else {
                self.at = self.end;
            }
            self.end = outer_end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &'static [u8]) -> Reader {
        Reader::new(Bytes::from_static(bytes))
    }

    #[test]
    fn varints_of_every_length_are_read() {
        let cases: [(&[u8], u32); 6] = [
            (&[0x00], 0),
            (&[0x7f], 127),
            (&[0x80, 0x01], 128),
            (&[0xff, 0xff, 0x7f], 0x1f_ffff),
            (&[0xff, 0xff, 0xff, 0xff, 0x0f], u32::MAX),
            (&[0x80, 0x80, 0x80, 0x80, 0x00], 0),
        ];
        for (bytes, value) in cases {
            let mut r = Reader::new(Bytes::from_static(bytes));
            assert_eq!(r.uvarint(), Ok(value));
            assert_eq!(r.expect_end(), Ok(()));
        }
    }

    #[test]
    fn varints_beyond_32_bits_are_refused() {
        for bytes in [&[0xff, 0xff, 0xff, 0xff, 0x10][..], &[0xff, 0xff, 0xff, 0xff, 0xff, 0x01]] {
            let error = Reader::new(Bytes::from_static(bytes)).uvarint().unwrap_err();
            assert_eq!(error.reason, DecodeReason::VarintTooLong);
        }
    }

    #[test]
    fn counts_beyond_the_remaining_bytes_are_refused_before_allocation() {
        let mut r = reader(&[0; 10]);
        assert_eq!(r.claim(5, 2, 1), Ok(()));
        assert_eq!(r.claim(6, 2, 1).unwrap_err().reason, DecodeReason::CountTooLarge);
        assert_eq!(r.claim(usize::MAX, 0, 1).unwrap_err().reason, DecodeReason::CountTooLarge);
    }

    #[test]
    fn memory_of_all_arrays_is_paid_from_one_budget() {
        let mut r = Reader::with_memory_max(Bytes::from_static(&[0; 10]), 100);
        assert_eq!(r.claim(10, 1, 6), Ok(()));
        assert_eq!(r.claim(10, 1, 5).unwrap_err().reason, DecodeReason::MemoryTooLarge);
        assert_eq!(r.claim(10, 1, 4), Ok(()));
    }

    #[test]
    fn unknown_tagged_fields_are_skipped_within_their_size() {
        let mut r = reader(&[0x02, 0x05, 0x02, 0xaa, 0xbb, 0x06, 0x00, 0x2a]);
        let mut seen = Vec::new();
        r.tagged_fields(|tag, _| {
            seen.push(tag);
            Ok(false)
        })
        .unwrap();
        assert_eq!(seen, [5, 6]);
        assert_eq!(r.i8(), Ok(0x2a));
    }

    #[test]
    fn tagged_values_cannot_read_past_their_size() {
        let error = reader(&[0x01, 0x00, 0x01, 0xaa, 0xbb])
            .tagged_fields(|_, r| r.i16().map(|_| true))
            .unwrap_err();
        assert_eq!(error.reason, DecodeReason::Truncated);
        let error = reader(&[0x01, 0x00, 0x03, 0xaa, 0xbb, 0xcc])
            .tagged_fields(|_, r| r.i16().map(|_| true))
            .unwrap_err();
        assert_eq!(error.reason, DecodeReason::TaggedFieldSize);
    }
}
