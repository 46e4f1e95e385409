//! Snappy: blocks in the framing of xerial's snappy-java (Java, most clients), or one raw block
//! (librdkafka).
//!
//! A block can only be had whole. Its length is claimed by the input, so it is believed only as
//! far as the format lets a block grow.

use super::{Budget, grow};
use crate::codec::Codec;
use crate::error::RecordsError;

/// How snappy-java begins a stream; two 32-bit versions follow.
pub(crate) const XERIAL_MAGIC: [u8; 8] = *b"\x82SNAPPY\x00";
/// The magic and the two versions.
pub(crate) const XERIAL_HEADER_BYTES: usize = 16;
/// A copy of 64 bytes takes at least 3, so no block grows more than this.
const GROWTH_MAX: usize = 22;

/// Snappy data under way.
pub(crate) struct SnappyInflater<'a> {
    input: &'a [u8],
    framed: bool,
}

fn error(reason: &'static str) -> RecordsError {
    RecordsError::Decompress { codec: Codec::Snappy, reason }
}

impl<'a> SnappyInflater<'a> {
    pub(crate) fn new(input: &'a [u8]) -> Result<Self, RecordsError> {
        if input.is_empty() {
            return Err(error("there is no block"));
        }
        if !input.starts_with(&XERIAL_MAGIC) {
            return Ok(Self { input, framed: false });
        }
        let input = input.get(XERIAL_HEADER_BYTES..).ok_or(error("the framing is cut short"))?;
        Ok(Self { input, framed: true })
    }

    pub(crate) fn fill(
        &mut self,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<usize, RecordsError> {
        // Empty blocks are legal; each takes input, so the loop ends.
        while !self.input.is_empty() {
            let block = self.next_block()?;
            let bytes = snap::raw::decompress_len(block).map_err(|_| error("not a block"))?;
            if bytes > block.len().saturating_mul(GROWTH_MAX) {
                return Err(error("a block claims more than it can hold"));
            }
            budget.spend(bytes)?;
            grow(out, bytes);
            let written = snap::raw::Decoder::new()
                .decompress(block, &mut out[..bytes])
                .map_err(|_| error("a block is malformed"))?;
            if written > 0 {
                return Ok(written);
            }
        }
        Ok(0)
    }

    fn next_block(&mut self) -> Result<&'a [u8], RecordsError> {
        let short = || error("it ends within a block");
        if !self.framed {
            return Ok(std::mem::take(&mut self.input));
        }
        let (length, rest) = self.input.split_first_chunk::<4>().ok_or_else(short)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (block, rest) = rest.split_at_checked(length).ok_or_else(short)?;
        self.input = rest;
        Ok(block)
    }
}
