//! Zstandard: any number of frames, with a limit on the window that a frame may ask for.

use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer};

use super::{Budget, CHUNK_BYTES, grow};
use crate::codec::Codec;
use crate::error::RecordsError;

/// Zstandard data under way.
pub(crate) struct ZstdInflater<'a> {
    input: &'a [u8],
    context: &'a mut DCtx<'static>,
    in_frame: bool,
}

fn error(reason: &'static str) -> RecordsError {
    RecordsError::Decompress { codec: Codec::Zstd, reason }
}

impl<'a> ZstdInflater<'a> {
    /// `context` must be fresh or reset.
    pub(crate) fn new(input: &'a [u8], context: &'a mut DCtx<'static>) -> Self {
        Self { input, context, in_frame: true }
    }

    pub(crate) fn fill(
        &mut self,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<usize, RecordsError> {
        grow(out, CHUNK_BYTES);
        loop {
            if self.input.is_empty() && !self.in_frame {
                return Ok(0);
            }
            let mut input = InBuffer::around(self.input);
            let mut output = OutBuffer::around(&mut out[..CHUNK_BYTES]);
            let hint = self
                .context
                .decompress_stream(&mut output, &mut input)
                .map_err(|_| error("malformed, or its window is larger than allowed"))?;
            let (read, written) = (input.pos(), output.pos());
            self.input = self.input.get(read..).unwrap_or_default();
            self.in_frame = hint != 0;
            budget.spend(written)?;
            if written > 0 {
                return Ok(written);
            }
            if read == 0 && self.in_frame {
                return Err(error("it ends within a frame"));
            }
        }
    }
}
