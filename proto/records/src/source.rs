//! Where a walk over records gets its bytes: a slice, or a decompressor chunk by chunk.
//!
//! The slice hands out what it passes; the chunks only skip, so that a record larger than a chunk
//! needs no more memory than a small one.

use crate::error::{RecordFault, RecordsError};
use crate::inflate::{Budget, Inflater};
use crate::varint::{self, VarintReader};

/// Bytes, read once from front to back.
pub(crate) trait ByteSource {
    /// What [`ByteSource::take`] gives back: the bytes, or nothing where they are not kept.
    type Span: Copy;

    /// Whether all bytes have been read.
    fn at_end(&mut self) -> Result<bool, RecordsError>;
    /// The next byte.
    fn byte(&mut self) -> Result<u8, RecordsError>;
    /// The next varint, not yet unfolded from zigzag, and its length.
    fn varint(&mut self, bytes_max: usize) -> Result<(u64, usize), RecordsError>;
    /// The next `length` bytes.
    fn take(&mut self, length: u32) -> Result<Self::Span, RecordsError>;
    /// All bytes not yet read, without reading them.
    fn rest(&self) -> Self::Span;
}

/// A slice as a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceSource<'a> {
    data: &'a [u8],
}

impl<'a> SliceSource<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data }
    }

    /// What has not been read.
    pub(crate) fn remaining(&self) -> &'a [u8] {
        self.data
    }
}

#[cold]
fn overrun() -> RecordsError {
    RecordsError::fault(RecordFault::Overrun)
}

impl<'a> ByteSource for SliceSource<'a> {
    type Span = &'a [u8];

    #[inline(always)]
    fn at_end(&mut self) -> Result<bool, RecordsError> {
        Ok(self.data.is_empty())
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8, RecordsError> {
        let (&byte, rest) = self.data.split_first().ok_or_else(overrun)?;
        self.data = rest;
        Ok(byte)
    }

    #[inline(always)]
    fn varint(&mut self, bytes_max: usize) -> Result<(u64, usize), RecordsError> {
        let (value, length) = varint::read(self.data, bytes_max).map_err(RecordsError::fault)?;
        self.data = &self.data[length..];
        Ok((value, length))
    }

    #[inline(always)]
    fn take(&mut self, length: u32) -> Result<&'a [u8], RecordsError> {
        let (taken, rest) = self.data.split_at_checked(length as usize).ok_or_else(overrun)?;
        self.data = rest;
        Ok(taken)
    }

    #[inline(always)]
    fn rest(&self) -> &'a [u8] {
        self.data
    }
}

/// A decompressor as a source: holds one chunk at a time.
pub(crate) struct ChunkSource<'a> {
    inflater: Inflater<'a>,
    chunk: &'a mut Vec<u8>,
    position: usize,
    filled: usize,
    budget: Budget,
    /// Counts what came out.
    output_bytes: &'a mut u64,
}

impl<'a> ChunkSource<'a> {
    /// Reads what `inflater` gives through the buffer `chunk`, no more than `budget`, and counts it.
    pub(crate) fn new(
        inflater: Inflater<'a>,
        chunk: &'a mut Vec<u8>,
        budget: Budget,
        output_bytes: &'a mut u64,
    ) -> Self {
        Self { inflater, chunk, position: 0, filled: 0, budget, output_bytes }
    }

    /// What is left of the chunk; after its end, the next chunk. Empty at the end of the data.
    #[inline(always)]
    pub(crate) fn available(&mut self) -> Result<&[u8], RecordsError> {
        if self.position == self.filled {
            self.refill()?;
        }
        Ok(&self.chunk[self.position..self.filled])
    }

    #[cold]
    fn refill(&mut self) -> Result<(), RecordsError> {
        self.filled = self.inflater.fill(self.chunk, &mut self.budget)?;
        self.position = 0;
        *self.output_bytes += self.filled as u64;
        Ok(())
    }

    /// A varint that may cross into the next chunk.
    #[cold]
    fn varint_across(&mut self, bytes_max: usize) -> Result<(u64, usize), RecordsError> {
        let mut reader = VarintReader::default();
        loop {
            let byte = self.byte()?;
            if let Some(done) = reader.push(byte, bytes_max).map_err(RecordsError::fault)? {
                return Ok(done);
            }
        }
    }

    /// Passes `length` bytes of what [`Self::available`] gave.
    pub(crate) fn consume(&mut self, length: usize) {
        self.position = (self.position + length).min(self.filled);
    }
}

impl ByteSource for ChunkSource<'_> {
    type Span = ();

    #[inline(always)]
    fn at_end(&mut self) -> Result<bool, RecordsError> {
        Ok(self.available()?.is_empty())
    }

    #[inline(always)]
    fn byte(&mut self) -> Result<u8, RecordsError> {
        let byte = self.available()?.first().copied().ok_or_else(overrun)?;
        self.position += 1;
        Ok(byte)
    }

    #[inline(always)]
    fn varint(&mut self, bytes_max: usize) -> Result<(u64, usize), RecordsError> {
        let window = &self.chunk[self.position..self.filled];
        if window.len() >= bytes_max {
            let (value, length) = varint::read(window, bytes_max).map_err(RecordsError::fault)?;
            self.position += length;
            return Ok((value, length));
        }
        self.varint_across(bytes_max)
    }

    fn take(&mut self, length: u32) -> Result<(), RecordsError> {
        let mut left = length as usize;
        while left > 0 {
            let step = self.available()?.len().min(left);
            if step == 0 {
                return Err(overrun());
            }
            self.position += step;
            left -= step;
        }
        Ok(())
    }

    fn rest(&self) {}
}
