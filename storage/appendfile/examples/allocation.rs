//! Measures what one `fdatasync` costs on a file that is plainly appended to, reserved by
//! `fallocate`, reserved and filled with zeros a step ahead, or filled with zeros in advance:
//! `allocation DIRECTORY [WRITE_BYTES] [SYNCS] [AHEAD_BYTES]`.
//!
//! The figures behind the choice in `disk/real` are in docs/formats/append-file.md.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures the real world"
)]

use std::fs::{File, OpenOptions};
use std::io::Result;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use rustix::fs::{FallocateFlags, fallocate};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "/tmp".to_owned());
    let mut number = |or: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(or);
    let (write_bytes, sync_count, ahead_bytes) =
        (number(16 * 1024), number(300), number(512 * 1024));
    let variants = ["append", "fallocate", "ahead", "zeros"];
    for variant in variants.into_iter().chain(variants) {
        let path = Path::new(&directory).join(format!("allocation-{}.tmp", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        prepare(&file, variant, (write_bytes * sync_count) as u64)?;
        let cpu_start = cpu_micros();
        let ahead = if variant == "ahead" { ahead_bytes } else { 0 };
        let mut micros = measure(&file, write_bytes, sync_count, ahead)?;
        let cpu = (cpu_micros() - cpu_start) / sync_count as u64;
        std::fs::remove_file(&path)?;
        micros.sort_unstable();
        let at = |share: f64| micros[((micros.len() - 1) as f64 * share) as usize];
        let mean = micros.iter().sum::<u128>() / micros.len() as u128;
        println!(
            "{variant:<10} {write_bytes:>7} bytes: mean {mean:>5} us, p50 {:>5}, p90 {:>5}, \
             p99 {:>5}, cpu {cpu:>4} us",
            at(0.5),
            at(0.9),
            at(0.99)
        );
    }
    Ok(())
}

fn prepare(file: &File, variant: &str, length: u64) -> Result<()> {
    match variant {
        "fallocate" | "ahead" => fallocate(file, FallocateFlags::empty(), 0, length)?,
        "zeros" => {
            let zeros = vec![0_u8; 1 << 20];
            let mut at = 0;
            while at < length {
                let now = (length - at).min(zeros.len() as u64);
                file.write_all_at(&zeros[..now as usize], at)?;
                at += now;
            }
        }
        _ => {}
    }
    file.sync_all()
}

fn measure(file: &File, write_bytes: usize, syncs: usize, ahead_bytes: usize) -> Result<Vec<u128>> {
    let body = vec![0x5A_u8; write_bytes];
    let zeros = vec![0_u8; ahead_bytes];
    let mut micros = Vec::with_capacity(syncs);
    let (mut at, mut zeroed) = (0_u64, 0_u64);
    for _ in 0..syncs {
        let start = Instant::now();
        file.write_all_at(&body, at)?;
        at += body.len() as u64;
        if ahead_bytes > 0 && at > zeroed {
            file.write_all_at(&zeros, at)?;
            zeroed = at + zeros.len() as u64;
        }
        file.sync_data()?;
        micros.push(start.elapsed().as_micros());
    }
    Ok(micros)
}

/// The time this thread spent on a CPU, in microseconds.
fn cpu_micros() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or(0) / 1000
}
