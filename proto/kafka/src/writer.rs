//! `Writer`: builds a frame as parts, sharing record bytes instead of copying them.
//!
//! Invariants:
//! - `parts` then `open` are the frame written so far; `first`, the part with the frame's length,
//!   stays open until the end because the length is known only then.
//! - Inside a tagged field everything is copied, because the field's size is patched in front of it.
//! - The first error is kept and answered by [`Writer::finish`]; writing goes on harmlessly.

use bytes::{BufMut, Bytes, BytesMut};
use tidemill_base::FileRange;

use crate::encode_error::EncodeError;
use crate::parts::{Part, Parts};
use crate::reader::STRING_BYTES_MAX;
use crate::record_parts::{Kept, RecordPart, RecordParts};

/// Shared record bytes up to this length are copied: cheaper than one more part in the write.
pub const COPIED_BYTES_MAX: usize = 256;

/// What a frame without records usually fits into.
const CAPACITY_BYTES: usize = 512;

/// How many bytes of length stand in front of a frame.
const LENGTH_BYTES: usize = 4;

/// A frame being written.
#[derive(Debug)]
pub struct Writer {
    /// The part that begins with the frame's length, once something follows it.
    first: Option<BytesMut>,
    parts: Vec<Part>,
    open: BytesMut,
    /// The bytes in `first` and `parts`.
    closed_bytes: usize,
    /// Of all bytes, those of records that are shared or lent.
    record_bytes: usize,
    tagged_depth: u32,
    kept: Vec<Kept>,
    error: Option<EncodeError>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// An empty frame.
    #[must_use]
    pub fn new() -> Self {
        let mut open = BytesMut::with_capacity(CAPACITY_BYTES);
        open.put_bytes(0, LENGTH_BYTES);
        Self {
            first: None,
            parts: Vec::new(),
            open,
            closed_bytes: 0,
            record_bytes: 0,
            tagged_depth: 0,
            kept: Vec::new(),
            error: None,
        }
    }

    /// How many bytes the frame has so far, its length not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.closed_bytes + self.open.len() - LENGTH_BYTES
    }

    /// Whether nothing has been written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The frame with its four length bytes in front.
    ///
    /// # Errors
    /// What the message held that has no form on the wire.
    pub fn finish(mut self) -> Result<Parts, EncodeError> {
        let length = self.len();
        let Ok(frame_length) = i32::try_from(length) else {
            return Err(EncodeError::FrameTooLong(length));
        };
        if let Some(error) = self.error {
            return Err(error);
        }
        let Some(mut first) = self.first.take() else {
            self.open[..LENGTH_BYTES].copy_from_slice(&frame_length.to_be_bytes());
            let mut parts = Parts::new(vec![self.open.freeze()]);
            parts.keep(self.kept);
            return Ok(parts);
        };
        first[..LENGTH_BYTES].copy_from_slice(&frame_length.to_be_bytes());
        self.parts[0] = first.freeze().into();
        self.parts.push(self.open.freeze().into());
        let mut parts: Parts = self.parts.into_iter().collect();
        parts.set_record_bytes(self.record_bytes);
        parts.keep(self.kept);
        Ok(parts)
    }

    /// What has been written, without a length in front: a message inside another one's bytes.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish_body(self) -> Result<Bytes, EncodeError> {
        let mut frame = self.finish()?.to_bytes();
        Ok(frame.split_off(LENGTH_BYTES))
    }

    #[cold]
    pub(crate) fn fail(&mut self, error: EncodeError) {
        self.error.get_or_insert(error);
    }

    pub(crate) fn i8(&mut self, value: i8) {
        self.open.put_i8(value);
    }

    pub(crate) fn i16(&mut self, value: i16) {
        self.open.put_i16(value);
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.open.put_i32(value);
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.open.put_i64(value);
    }

    pub(crate) fn slice(&mut self, bytes: &[u8]) {
        self.open.put_slice(bytes);
    }

    /// An unsigned varint, low groups of seven first.
    pub(crate) fn uvarint(&mut self, value: u32) {
        let (bytes, length) = uvarint_bytes(value);
        self.open.put_slice(&bytes[..length]);
    }

    /// The length in front of a string: an `i16`, or a varint of it plus one. `None` is null.
    pub(crate) fn string_length(&mut self, length: Option<usize>, flexible: bool) {
        match (length, flexible) {
            (Some(length), _) if length > STRING_BYTES_MAX => {
                self.fail(EncodeError::StringTooLong(length));
            }
            (Some(length), true) => self.uvarint(length as u32 + 1),
            (Some(length), false) => self.i16(length as i16),
            (None, true) => self.uvarint(0),
            (None, false) => self.i16(-1),
        }
    }

    /// The length in front of bytes or the count in front of an array: an `i32`, or a varint of it
    /// plus one. `None` is null.
    pub(crate) fn length(&mut self, length: Option<usize>, flexible: bool) {
        match (length, flexible) {
            (Some(length), _) if length >= i32::MAX as usize => {
                self.fail(EncodeError::FrameTooLong(length));
            }
            (Some(length), true) => self.uvarint(length as u32 + 1),
            (Some(length), false) => self.i32(length as i32),
            (None, true) => self.uvarint(0),
            (None, false) => self.i32(-1),
        }
    }

    /// Writes bytes, shared if they are long enough to be worth a part of their own.
    pub(crate) fn shared(&mut self, bytes: &Bytes) {
        if bytes.len() <= COPIED_BYTES_MAX || self.tagged_depth > 0 {
            self.open.put_slice(bytes);
            return;
        }
        self.close();
        self.closed_bytes += bytes.len();
        self.parts.push(bytes.clone().into());
    }

    /// Adds a range of a file. Records never lie in a tagged field, where all has to be copied.
    fn lent(&mut self, range: &FileRange) {
        self.close();
        self.record_bytes += range.len();
        self.closed_bytes += range.len();
        self.parts.push(Part::Lent(range.clone()));
    }

    pub(crate) fn records(&mut self, records: &RecordParts) {
        self.kept.extend(records.kept().cloned());
        for part in records.iter() {
            match part {
                RecordPart::Head(head) => self.open.put_slice(head),
                RecordPart::Shared(bytes) => {
                    self.record_bytes += bytes.len();
                    self.shared(bytes);
                }
                RecordPart::Lent(range) => self.lent(range),
            }
        }
    }

    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        self.closed_bytes += self.open.len();
        let closed = self.open.split();
        if self.first.is_none() {
            self.first = Some(closed);
            // Its place in the list, taken by `finish`.
            self.parts.push(Bytes::new().into());
        } else {
            self.parts.push(closed.freeze().into());
        }
    }

    /// Writes a tagged field: its tag, its size, and what `value` writes.
    pub(crate) fn tagged_field(&mut self, tag: u32, value: impl FnOnce(&mut Self)) {
        self.uvarint(tag);
        let start = self.open.len();
        self.tagged_depth += 1;
        value(self);
        self.tagged_depth -= 1;
        let size = self.open.len() - start;
        let (prefix, prefix_length) = uvarint_bytes(size as u32);
        self.open.put_slice(&prefix[..prefix_length]);
        self.open[start..].rotate_right(prefix_length);
    }
}

fn uvarint_bytes(mut value: u32) -> ([u8; 5], usize) {
    let mut bytes = [0; 5];
    let mut length = 0;
    loop {
        let group = (value & 0x7f) as u8;
        value >>= 7;
        bytes[length] = if value == 0 { group } else { group | 0x80 };
        length += 1;
        if value == 0 {
            return (bytes, length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::Reader;

    fn shared(parts: &Parts) -> Vec<Bytes> {
        let shared = parts.left().iter().map(|part| match part {
            Part::Shared(bytes) => bytes.clone(),
            Part::Lent(range) => range.read().unwrap(),
        });
        shared.collect()
    }

    #[test]
    fn varints_are_read_back() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, 2_097_151, 2_097_152, u32::MAX] {
            let mut w = Writer::new();
            w.uvarint(value);
            let mut r = Reader::new(w.finish_body().unwrap());
            assert_eq!(r.uvarint(), Ok(value));
            assert_eq!(r.expect_end(), Ok(()));
        }
    }

    #[test]
    fn long_shared_bytes_become_parts_and_the_length_counts_all() {
        let body = Bytes::from(vec![7; 1000]);
        let mut w = Writer::new();
        w.i16(1);
        w.shared(&body);
        w.shared(&body);
        w.i16(2);
        w.shared(&body);
        let parts = w.finish().unwrap();
        let slices = shared(&parts);
        assert_eq!(slices.iter().map(Bytes::len).collect::<Vec<_>>(), [6, 1000, 1000, 2, 1000]);
        assert_eq!(slices[1].as_ptr(), body.as_ptr());
        assert_eq!(&slices[0][..], [0, 0, 0x0b, 0xbc, 0, 1]);
        assert_eq!(parts.len(), 3008);
    }

    #[test]
    fn short_shared_bytes_are_copied_into_the_open_part() {
        let mut w = Writer::new();
        w.shared(&Bytes::from_static(b"short"));
        assert_eq!(w.finish().unwrap().left().len(), 1);
    }

    #[test]
    fn tagged_fields_have_their_size_in_front_even_beyond_127_bytes() {
        let mut w = Writer::new();
        w.i8(9);
        w.tagged_field(3, |w| w.shared(&Bytes::from(vec![5; 300])));
        let body = w.finish_body().unwrap();
        assert_eq!(&body[..5], [9, 3, 0xac, 0x02, 5]);
        assert_eq!(body.len(), 304);
    }

    #[test]
    fn strings_beyond_kafkas_limit_fail_the_frame() {
        let mut w = Writer::new();
        w.string_length(Some(32_768), true);
        assert_eq!(w.finish().unwrap_err(), EncodeError::StringTooLong(32_768));
    }
}
