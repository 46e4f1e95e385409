//! How fast batches are validated on this machine: `cargo run --release --example validate_speed`.

#![expect(clippy::print_stdout, reason = "printing the figures is all it does")]
#![expect(clippy::disallowed_methods, reason = "it measures time on the real machine")]

use std::time::Instant;

use tidemill_base::TimestampMs;
use tidemill_records::{
    AdmissionLimits, BatchBuilder, BatchView, Codec, Compressor, DecompressLimits, Decompressor,
    RecordsError, validate_header, validate_records,
};

const BATCH_BYTES: usize = 256 * 1024;
const TOTAL_BYTES: usize = 2 * 1024 * 1024 * 1024;
const COMPRESSED_TOTAL_BYTES: usize = 256 * 1024 * 1024;

fn main() -> Result<(), RecordsError> {
    let value: Vec<u8> =
        (0..1024_u32).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 27) as u8).collect();
    for codec in Codec::ALL {
        for value_bytes in [1024, 100] {
            let mut builder = BatchBuilder::new(codec);
            while builder.size_bytes() < BATCH_BYTES {
                builder.append_value(TimestampMs(1), None, value.get(..value_bytes))?;
            }
            let uncompressed = builder.size_bytes();
            let bytes = builder.finish(&mut Compressor::new())?;
            let total = if codec == Codec::None { TOTAL_BYTES } else { COMPRESSED_TOTAL_BYTES };
            measure(codec, value_bytes, uncompressed, total, &bytes)?;
        }
    }
    Ok(())
}

fn measure(
    codec: Codec,
    value_bytes: usize,
    uncompressed: usize,
    total: usize,
    bytes: &[u8],
) -> Result<(), RecordsError> {
    let batch = BatchView::parse(bytes)?;
    let limits = DecompressLimits::default();
    let admission = AdmissionLimits { batch_bytes_max: 1024 * 1024 };
    let mut decompressor = Decompressor::new();
    let rounds = total / uncompressed;
    let begin = Instant::now();
    for _ in 0..rounds {
        validate_header(&batch, &admission)?;
    }
    let header = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    for _ in 0..rounds {
        std::hint::black_box(validate_records(&batch, &mut decompressor, &limits)?);
    }
    let records = begin.elapsed().as_secs_f64();
    let gib = (rounds * uncompressed) as f64 / (1024.0 * 1024.0 * 1024.0);
    println!(
        "{codec}, {value_bytes} B values: header and checksum {:.2} GiB/s, records {:.2} GiB/s",
        gib / header,
        gib / records
    );
    Ok(())
}
