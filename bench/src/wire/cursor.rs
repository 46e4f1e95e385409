//! Reading an answer field by field, never past its end.

use crate::wire::WireError;

/// A place in an answer.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// A cursor at the first byte.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many bytes are left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(WireError::Short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(WireError::Short)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// An `int16`.
    pub fn i16(&mut self) -> Result<i16, WireError> {
        self.array().map(i16::from_be_bytes)
    }

    /// An `int32`.
    pub fn i32(&mut self) -> Result<i32, WireError> {
        self.array().map(i32::from_be_bytes)
    }

    /// An `int64`.
    pub fn i64(&mut self) -> Result<i64, WireError> {
        self.array().map(i64::from_be_bytes)
    }

    /// An unsigned varint of at most five bytes.
    pub fn uvarint(&mut self) -> Result<usize, WireError> {
        let mut value = 0usize;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array::<1>()?;
            value |= usize::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(WireError::Unexpected("varint"))
    }

    /// The count of a compact array, or the length of compact bytes; a null counts as 0.
    pub fn compact_count(&mut self) -> Result<usize, WireError> {
        Ok(self.uvarint()?.saturating_sub(1))
    }

    /// A compact string or compact bytes; a null is empty.
    pub fn compact_bytes(&mut self) -> Result<&'a [u8], WireError> {
        let count = self.compact_count()?;
        self.bytes(count)
    }

    /// Skips tagged fields.
    pub fn tagged_fields(&mut self) -> Result<(), WireError> {
        for _ in 0..self.uvarint()? {
            self.uvarint()?;
            let size = self.uvarint()?;
            self.bytes(size)?;
        }
        Ok(())
    }
}
