//! Compression for building batches, as the usual clients do it.
//!
//! Levels are the codecs' defaults (gzip 6, zstd 3), Snappy is in xerial framing with 32 KiB blocks
//! and LZ4 in frames of independent 64 KiB blocks, which every client reads.

use std::io::Write;

use bytes::{BufMut, BytesMut};
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use crate::codec::Codec;
use crate::error::RecordsError;
use crate::inflate::snappy::XERIAL_MAGIC;

const SNAPPY_BLOCK_BYTES: usize = 32 * 1024;
/// Version 1, readable by version 1.
const XERIAL_VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
const GZIP_LEVEL: u32 = 6;
const ZSTD_LEVEL: i32 = 3;

/// Reusable state for compressing; allocates on first use.
#[derive(Default)]
pub struct Compressor {
    zstd: Option<zstd::bulk::Compressor<'static>>,
    snappy: Option<Box<snap::raw::Encoder>>,
    block: Vec<u8>,
}

impl Compressor {
    /// A compressor that has allocated nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `input`, compressed, to `out`.
    ///
    /// # Errors
    /// [`RecordsError::Compress`], which does not depend on the input.
    pub fn compress(
        &mut self,
        codec: Codec,
        input: &[u8],
        out: &mut BytesMut,
    ) -> Result<(), RecordsError> {
        let done = match codec {
            Codec::None => {
                out.extend_from_slice(input);
                Some(())
            }
            Codec::Gzip => gzip(input, out),
            Codec::Snappy => self.snappy(input, out),
            Codec::Lz4 => lz4(input, out),
            Codec::Zstd => self.zstd(input, out),
        };
        done.ok_or(RecordsError::Compress { codec })
    }

    fn snappy(&mut self, input: &[u8], out: &mut BytesMut) -> Option<()> {
        let encoder = self.snappy.get_or_insert_with(|| Box::new(snap::raw::Encoder::new()));
        self.block.resize(snap::raw::max_compress_len(SNAPPY_BLOCK_BYTES), 0);
        out.put_slice(&XERIAL_MAGIC);
        out.put_slice(&XERIAL_VERSIONS);
        for block in input.chunks(SNAPPY_BLOCK_BYTES) {
            let bytes = encoder.compress(block, &mut self.block).ok()?;
            out.put_u32(u32::try_from(bytes).ok()?);
            out.put_slice(self.block.get(..bytes)?);
        }
        Some(())
    }

    fn zstd(&mut self, input: &[u8], out: &mut BytesMut) -> Option<()> {
        let encoder = match &mut self.zstd {
            Some(encoder) => encoder,
            None => self.zstd.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL).ok()?),
        };
        out.extend_from_slice(&encoder.compress(input).ok()?);
        Some(())
    }
}

fn gzip(input: &[u8], out: &mut BytesMut) -> Option<()> {
    let level = flate2::Compression::new(GZIP_LEVEL);
    let mut encoder = flate2::write::GzEncoder::new(out.writer(), level);
    encoder.write_all(input).ok()?;
    encoder.finish().ok().map(drop)
}

fn lz4(input: &[u8], out: &mut BytesMut) -> Option<()> {
    let info = FrameInfo::new().block_mode(BlockMode::Independent).block_size(BlockSize::Max64KB);
    let mut encoder = FrameEncoder::with_frame_info(info, out.writer());
    encoder.write_all(input).ok()?;
    encoder.finish().ok().map(drop)
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}
