//! Kafka's varints: base 128, least first, signed numbers in zigzag.
//!
//! A number may be written with more bytes than it needs, as Kafka allows, but with no more bytes
//! and no more bits than its type has.

use bytes::{BufMut, BytesMut};

use crate::error::RecordFault;

/// The most bytes that a 32-bit varint takes.
pub(crate) const VARINT32_BYTES_MAX: usize = 5;
/// The most bytes that a 64-bit varint takes.
pub(crate) const VARINT64_BYTES_MAX: usize = 10;

/// Adds the bytes of one varint up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VarintReader {
    value: u64,
    bytes: usize,
}

impl VarintReader {
    /// Takes the next byte; answers the number and its length when that was the last one.
    pub(crate) fn push(
        &mut self,
        byte: u8,
        bytes_max: usize,
    ) -> Result<Option<(u64, usize)>, RecordFault> {
        let bits = u64::from(byte & 0x7f);
        let shift = 7 * self.bytes as u32;
        if self.bytes >= bytes_max || (bits << shift) >> shift != bits {
            return Err(RecordFault::VarintTooLong);
        }
        self.value |= bits << shift;
        self.bytes += 1;
        Ok((byte < 0x80).then_some((self.value, self.bytes)))
    }
}

/// The number at the start of `bytes` and its length.
#[inline]
pub(crate) fn read(bytes: &[u8], bytes_max: usize) -> Result<(u64, usize), RecordFault> {
    match *bytes {
        [one, ..] if one < 0x80 => Ok((u64::from(one), 1)),
        [one, two, ..] if two < 0x80 => Ok((u64::from(one & 0x7f) | u64::from(two) << 7, 2)),
        _ => read_long(bytes, bytes_max),
    }
}

#[cold]
fn read_long(bytes: &[u8], bytes_max: usize) -> Result<(u64, usize), RecordFault> {
    let mut reader = VarintReader::default();
    for &byte in bytes.iter().take(bytes_max + 1) {
        if let Some(done) = reader.push(byte, bytes_max)? {
            return Ok(done);
        }
    }
    Err(RecordFault::Overrun)
}

/// The signed number of 64 bits that `raw` stands for.
#[inline]
pub(crate) fn zigzag64(raw: u64) -> i64 {
    (raw >> 1) as i64 ^ -((raw & 1) as i64)
}

/// The signed number of 32 bits that `raw` stands for.
#[inline]
pub(crate) fn zigzag32(raw: u64) -> Result<i32, RecordFault> {
    let raw = u32::try_from(raw).map_err(|_| RecordFault::VarintTooLong)?;
    Ok((raw >> 1) as i32 ^ -((raw & 1) as i32))
}

/// Writes a signed number.
pub(crate) fn put(out: &mut BytesMut, value: i64) {
    let mut raw = unsigned(value);
    while raw >= 0x80 {
        out.put_u8(raw as u8 | 0x80);
        raw >>= 7;
    }
    out.put_u8(raw as u8);
}

/// How many bytes [`put`] writes.
pub(crate) fn length(value: i64) -> usize {
    (64 - (unsigned(value) | 1).leading_zeros() as usize).div_ceil(7)
}

fn unsigned(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_with_their_length() {
        for value in [0, -1, 1, 63, -64, 64, 300, i64::from(i32::MIN), i64::MAX, i64::MIN] {
            let mut out = BytesMut::new();
            put(&mut out, value);
            assert_eq!(out.len(), length(value));
            let (raw, bytes) = read(&out, VARINT64_BYTES_MAX).unwrap();
            assert_eq!((zigzag64(raw), bytes), (value, out.len()));
        }
    }

    #[test]
    fn known_bytes_of_kafka() {
        for (value, bytes) in
            [(-1, &[1][..]), (1, &[2]), (63, &[0x7e]), (-64, &[0x7f]), (64, &[0x80, 1])]
        {
            let mut out = BytesMut::new();
            put(&mut out, value);
            assert_eq!(&out[..], bytes);
        }
    }

    #[test]
    fn overlong_numbers_are_refused() {
        assert_eq!(read(&[0x80; 5], VARINT32_BYTES_MAX), Err(RecordFault::Overrun));
        assert_eq!(read(&[0x80; 6], VARINT32_BYTES_MAX), Err(RecordFault::VarintTooLong));
        assert_eq!(read(&[0xff; 11], VARINT64_BYTES_MAX), Err(RecordFault::VarintTooLong));
        let wide = [0xff, 0xff, 0xff, 0xff, 0x1f];
        let (raw, _) = read(&wide, VARINT32_BYTES_MAX).unwrap();
        assert_eq!(zigzag32(raw), Err(RecordFault::VarintTooLong));
    }

    #[test]
    fn longer_forms_of_small_numbers_are_read() {
        assert_eq!(read(&[0x82, 0x80, 0], VARINT32_BYTES_MAX), Ok((2, 3)));
    }
}
