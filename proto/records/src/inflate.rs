//! Decompression in chunks, one codec a file.
//!
//! A codec is asked to fill the buffer with the next chunk until it answers that there is no more.
//! What it may give in all is a budget that it must ask before it hands a chunk out, and before
//! it allocates by a length that the input claims.

pub(crate) mod gzip;
pub(crate) mod lz4;
pub(crate) mod snappy;
pub(crate) mod zstd;

use crate::codec::Codec;
use crate::error::RecordsError;

/// The bytes of a chunk where the codec leaves the choice (gzip, zstd).
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// How much output is still allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    codec: Codec,
    bytes_max: u64,
    left: u64,
}

impl Budget {
    pub(crate) fn new(codec: Codec, bytes_max: u64) -> Self {
        Self { codec, bytes_max, left: bytes_max }
    }

    /// Takes `bytes` out of the budget.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), RecordsError> {
        match self.left.checked_sub(bytes as u64) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                Err(RecordsError::OutputTooLarge { codec: self.codec, bytes_max: self.bytes_max })
            }
        }
    }
}

/// One decompression under way.
pub(crate) enum Inflater<'a> {
    Gzip(gzip::GzipInflater<'a>),
    Snappy(snappy::SnappyInflater<'a>),
    Lz4(lz4::Lz4Inflater<'a>),
    Zstd(zstd::ZstdInflater<'a>),
}

impl Inflater<'_> {
    /// Puts the next chunk at the start of `out`, which grows as needed and never shrinks, and
    /// answers its length; 0 at the end of the data.
    pub(crate) fn fill(
        &mut self,
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<usize, RecordsError> {
        match self {
            Self::Gzip(gzip) => gzip.fill(out, budget),
            Self::Snappy(snappy) => snappy.fill(out, budget),
            Self::Lz4(lz4) => lz4.fill(out, budget),
            Self::Zstd(zstd) => zstd.fill(out, budget),
        }
    }
}

/// Makes `out` at least `bytes` long.
pub(crate) fn grow(out: &mut Vec<u8>, bytes: usize) {
    if out.len() < bytes {
        out.resize(bytes, 0);
    }
}
