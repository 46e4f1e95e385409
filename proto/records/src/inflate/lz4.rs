//! The LZ4 frame format, as far as Kafka uses it: version 1, independent blocks, no dictionary.
//!
//! Java consumers read nothing else, so a batch with linked blocks would poison a partition for
//! them; it is refused here as Kafka's broker refuses it. Header and block checksums are
//! verified. The content checksum is not: Kafka's Java client has computed it in its own way
//! for frames of several blocks, and the batch's CRC-32C covers the bytes anyway.

use std::hash::Hasher;

use twox_hash::XxHash32;

use super::{Budget, grow};
use crate::codec::Codec;
use crate::error::RecordsError;

const MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();
const VERSION_MASK: u8 = 0xc0;
const VERSION_1: u8 = 0x40;
const INDEPENDENT: u8 = 1 << 5;
const BLOCK_CHECKSUM: u8 = 1 << 4;
const CONTENT_SIZE: u8 = 1 << 3;
const CONTENT_CHECKSUM: u8 = 1 << 2;
const RESERVED: u8 = 1 << 1;
const DICTIONARY: u8 = 1;
const BLOCK_SIZE_SHIFT: u8 = 4;
const STORED: u32 = 1 << 31;

/// An LZ4 frame under way.
pub(crate) struct Lz4Inflater<'a> {
    input: &'a [u8],
    block_bytes_max: usize,
    block_checksum: bool,
    content_checksum: bool,
    ended: bool,
}

fn error(reason: &'static str) -> RecordsError {
    RecordsError::Decompress { codec: Codec::Lz4, reason }
}

fn short() -> RecordsError {
    error("the frame is cut short")
}

impl<'a> Lz4Inflater<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Result<Self, RecordsError> {
        let rest = input.strip_prefix(&MAGIC).ok_or(error("not an LZ4 frame"))?;
        let &[flags, block, ..] = rest else { return Err(short()) };
        if flags & VERSION_MASK != VERSION_1 || flags & (RESERVED | DICTIONARY) != 0 {
            return Err(error("the frame's version or flags are not supported"));
        }
        if flags & INDEPENDENT == 0 {
            return Err(error("linked blocks are not supported"));
        }
        let block_bytes_max = match block >> BLOCK_SIZE_SHIFT {
            size @ 4..=7 if block & 0x0f == 0 => 1 << (8 + 2 * size),
            _ => return Err(error("the block size is not defined")),
        };
        let descriptor_bytes = if flags & CONTENT_SIZE == 0 { 2 } else { 10 };
        let (descriptor, rest) = rest.split_at_checked(descriptor_bytes).ok_or_else(short)?;
        let (&sum, input) = rest.split_first().ok_or_else(short)?;
        if sum != (hash(descriptor) >> 8) as u8 {
            return Err(error("the frame's header checksum is wrong"));
        }
        Ok(Self {
            input,
            block_bytes_max,
            block_checksum: flags & BLOCK_CHECKSUM != 0,
            content_checksum: flags & CONTENT_CHECKSUM != 0,
            ended: false,
        })
    }

    pub(crate) fn fill(
        &mut self,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<usize, RecordsError> {
        while !self.ended {
            let mark = u32::from_le_bytes(*self.take_array()?);
            if mark == 0 {
                self.end()?;
                break;
            }
            let written = self.block(mark, out)?;
            budget.spend(written)?;
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }

    /// Reads the block whose size word is `mark` into `out`.
    fn block(&mut self, mark: u32, out: &mut Vec<u8>) -> Result<usize, RecordsError> {
        let length = (mark & !STORED) as usize;
        if length > self.block_bytes_max {
            return Err(error("a block is larger than the frame allows"));
        }
        let (block, rest) = self.input.split_at_checked(length).ok_or_else(short)?;
        self.input = rest;
        if self.block_checksum && u32::from_le_bytes(*self.take_array()?) != hash(block) {
            return Err(error("a block's checksum is wrong"));
        }
        if mark & STORED != 0 {
            grow(out, length);
            out[..length].copy_from_slice(block);
            return Ok(length);
        }
        grow(out, self.block_bytes_max);
        lz4_flex::block::decompress_into(block, &mut out[..self.block_bytes_max])
            .map_err(|_| error("a block is malformed"))
    }

    fn end(&mut self) -> Result<(), RecordsError> {
        self.ended = true;
        if self.content_checksum {
            self.take_array::<4>()?;
        }
        if self.input.is_empty() { Ok(()) } else { Err(error("bytes follow the frame")) }
    }

    fn take_array<const N: usize>(&mut self) -> Result<&'a [u8; N], RecordsError> {
        let (taken, rest) = self.input.split_first_chunk().ok_or_else(short)?;
        self.input = rest;
        Ok(taken)
    }
}

fn hash(bytes: &[u8]) -> u32 {
    let mut hasher = XxHash32::with_seed(0);
    hasher.write(bytes);
    hasher.finish() as u32
}
