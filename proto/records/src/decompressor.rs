//! What decompression needs from batch to batch, and its limits.
//!
//! A decompressor is reused (one a thread, say): its tables and buffers are allocated on first use
//! and kept, up to [`KEPT_BYTES_MAX`] for buffers. It holds no data of a batch between calls that
//! matters: every use begins anew, also after an error.

use flate2::Decompress;
use zstd::zstd_safe::{DCtx, DParameter, ResetDirective};

use crate::codec::Codec;
use crate::error::RecordsError;
use crate::inflate::gzip::GzipInflater;
use crate::inflate::lz4::Lz4Inflater;
use crate::inflate::snappy::SnappyInflater;
use crate::inflate::zstd::ZstdInflater;
use crate::inflate::{Budget, Inflater};
use crate::source::ChunkSource;

/// The most bytes that each of a decompressor's buffers keeps between batches.
pub const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// How far a batch may grow when it is decompressed.
///
/// A batch may become [`Self::output_bytes_max`] large if it is large itself; a small one may
/// become `ratio_max` times its size, or [`Self::output_bytes_free`], whichever is more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecompressLimits {
    /// The most bytes, whatever the batch's size.
    pub output_bytes_max: u64,
    /// The most bytes of output per byte of input, beyond the free output.
    pub ratio_max: u64,
    /// The bytes that any batch may become, however small it is.
    pub output_bytes_free: u64,
    /// The base 2 logarithm of the largest Zstandard window, 10 to 27. 23 (8 MiB) is what the
    /// levels up to 19 need and what RFC 8878 recommends; beyond it only `--ultra` levels go.
    pub zstd_window_log_max: u32,
}

impl Default for DecompressLimits {
    fn default() -> Self {
        Self {
            output_bytes_max: 64 * 1024 * 1024,
            ratio_max: 1_024,
            output_bytes_free: 16 * 1024 * 1024,
            zstd_window_log_max: 23,
        }
    }
}

impl DecompressLimits {
    /// The most bytes that a payload of `input_bytes` may become.
    #[must_use]
    pub fn output_bytes_for(&self, input_bytes: usize) -> u64 {
        (input_bytes as u64)
            .saturating_mul(self.ratio_max)
            .max(self.output_bytes_free)
            .min(self.output_bytes_max)
    }
}

/// Reusable state for reading compressed batches. Memory: at most two buffers of
/// [`KEPT_BYTES_MAX`], one Zstandard window and about 0.3 MB of tables between uses; during a use,
/// the buffers may grow to the limits of [`DecompressLimits`] (a walk that keeps nothing: to the
/// largest block, which is 4 MiB for LZ4 and 22 times the input for Snappy).
#[derive(Default)]
pub struct Decompressor {
    gzip: Option<Box<Decompress>>,
    zstd: Option<DCtx<'static>>,
    chunk: Vec<u8>,
    whole: Vec<u8>,
    output_bytes: u64,
}

impl Decompressor {
    /// A decompressor that has allocated nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many bytes came out of the last input that was compressed, also if it ended in an error.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        self.output_bytes
    }

    /// The decompressed bytes of `input`, whole, until the next use.
    ///
    /// # Errors
    /// [`RecordsError::Decompress`], [`RecordsError::OutputTooLarge`].
    pub fn decompress(
        &mut self,
        codec: Codec,
        input: &[u8],
        limits: &DecompressLimits,
    ) -> Result<&[u8], RecordsError> {
        let mut whole = std::mem::take(&mut self.whole);
        trim(&mut whole);
        whole.clear();
        let filled = self.append(codec, input, limits, &mut whole);
        self.whole = whole;
        filled?;
        Ok(&self.whole)
    }

    fn append(
        &mut self,
        codec: Codec,
        input: &[u8],
        limits: &DecompressLimits,
        whole: &mut Vec<u8>,
    ) -> Result<(), RecordsError> {
        if codec == Codec::None {
            whole.extend_from_slice(input);
            return Ok(());
        }
        let mut source = self.source(codec, input, limits)?;
        loop {
            let chunk = source.available()?;
            let bytes = chunk.len();
            if bytes == 0 {
                return Ok(());
            }
            whole.extend_from_slice(chunk);
            source.consume(bytes);
        }
    }

    /// The decompressed bytes of `input`, chunk by chunk.
    pub(crate) fn source<'a>(
        &'a mut self,
        codec: Codec,
        input: &'a [u8],
        limits: &DecompressLimits,
    ) -> Result<ChunkSource<'a>, RecordsError> {
        trim(&mut self.chunk);
        self.output_bytes = 0;
        let inflater = match codec {
            Codec::None => return Err(RecordsError::UnknownCodec { id: codec.id() }),
            Codec::Gzip => {
                let state = self.gzip.get_or_insert_with(|| Box::new(Decompress::new(false)));
                Inflater::Gzip(GzipInflater::new(input, state))
            }
            Codec::Snappy => Inflater::Snappy(SnappyInflater::new(input)?),
            Codec::Lz4 => Inflater::Lz4(Lz4Inflater::new(input)?),
            Codec::Zstd => {
                let context = zstd_context(&mut self.zstd, limits)?;
                Inflater::Zstd(ZstdInflater::new(input, context))
            }
        };
        let budget = Budget::new(codec, limits.output_bytes_for(input.len()));
        Ok(ChunkSource::new(inflater, &mut self.chunk, budget, &mut self.output_bytes))
    }
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

/// A context as good as new, with the window limited.
fn zstd_context<'a>(
    slot: &'a mut Option<DCtx<'static>>,
    limits: &DecompressLimits,
) -> Result<&'a mut DCtx<'static>, RecordsError> {
    let failed = |reason| move |_| RecordsError::Decompress { codec: Codec::Zstd, reason };
    let context = match slot {
        Some(context) => context,
        None => slot.insert(DCtx::try_create().ok_or(()).map_err(failed("no memory"))?),
    };
    context.reset(ResetDirective::SessionOnly).map_err(|_| RecordsError::Decompress {
        codec: Codec::Zstd,
        reason: "the decoder cannot be reset",
    })?;
    context.set_parameter(DParameter::WindowLogMax(limits.zstd_window_log_max)).map_err(|_| {
        RecordsError::Decompress { codec: Codec::Zstd, reason: "the window limit is out of range" }
    })?;
    Ok(context)
}

/// Lets go of a buffer that one large batch has grown.
fn trim(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES_MAX {
        *buffer = Vec::new();
    }
}
