//! One record batch, built once and sent again and again.
//!
//! A benchmark must not measure the building of records, so every request of a run carries the same
//! bytes: `record_count` uncompressed records of exactly [`RECORD_BYTES`] bytes each (length field
//! and headers included), no producer id. The values are pseudo-random, so that nothing below (a
//! file system, a disk) can squeeze them.

use tidemill_base::TimestampMs;
use tidemill_records::{BatchBuilder, Codec, Compressor};

/// Bytes of one record on the wire.
pub const RECORD_BYTES: usize = 1024;

/// Bytes of a record that are not its value, while its offset delta takes one byte.
const RECORD_OVERHEAD_BYTES: usize = 9;

/// The first offset delta that takes two bytes.
const WIDE_DELTA: usize = 64;

/// A ready batch.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The batch as a produce request carries it, base offset 0.
    pub bytes: Vec<u8>,
    /// How many offsets it takes.
    pub record_count: u32,
}

impl Batch {
    /// A batch with `records_bytes / 1024` records (at least one), all with `timestamp_ms`.
    pub fn build(records_bytes: usize, timestamp_ms: i64) -> anyhow::Result<Self> {
        let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
        let mut builder = BatchBuilder::new(Codec::None);
        for delta in 0..(records_bytes / RECORD_BYTES).max(1) {
            let overhead = RECORD_OVERHEAD_BYTES + usize::from(delta >= WIDE_DELTA);
            let value: Vec<u8> = noise.by_ref().take(RECORD_BYTES - overhead).collect();
            builder.append_value(TimestampMs(timestamp_ms), None, Some(&value))?;
        }
        let record_count = builder.record_count();
        let bytes = builder.finish(&mut Compressor::new())?.to_vec();
        Ok(Self { bytes, record_count })
    }
}

/// Endless pseudo-random bytes (xorshift), the same in every run.
struct Noise(u64);

impl Iterator for Noise {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Some(self.0.to_le_bytes()[7])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_records::BATCH_HEADER_BYTES;

    #[test]
    fn every_record_takes_1024_bytes() {
        for kib in [1, 16, 256] {
            let batch = Batch::build(kib * 1024, 1_700_000_000_000).expect("builds");
            assert_eq!(batch.record_count as usize, kib);
            assert_eq!(batch.bytes.len(), BATCH_HEADER_BYTES + kib * RECORD_BYTES);
        }
    }
}
