//! Append and sync, nothing else: the rate B and the sync time S of the disk under the brokers.
//!
//! A file system has more to sync when an append also changes what it knows of the file. Three ways
//! of preparing the file tell how much: not at all (each append grows it), allocated (`fallocate`:
//! each append turns an unwritten extent into a written one), zeroed (written before; only data).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::Context;
use rustix::fs::{FallocateFlags, fallocate};
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, SECOND_NS};
use crate::driver::latency::{Latencies, LatencySummary};

/// The file never grows past this.
const FILE_BYTES: u64 = 1 << 30;

/// Chunks that are measured, in bytes.
pub const CHUNKS_BYTES: [u64; 4] = [16 << 10, 256 << 10, 1 << 20, 4 << 20];

/// How the file is prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preparation {
    /// Empty.
    Grown,
    /// `fallocate`d at its full size.
    Allocated,
    /// Written with zeros and synced at its full size.
    Zeroed,
}

/// What one way of appending reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DiskFloor {
    /// Bytes per append.
    pub chunk_bytes: u64,
    /// How the file was prepared.
    pub preparation: Preparation,
    /// Bytes appended and synced per second.
    pub bytes_per_second: f64,
    /// Time of one fdatasync.
    pub sync: LatencySummary,
}

/// Appends chunks of `chunk_bytes` to a file in `folder`, a sync after each, for `measure_ns` or until
/// the file is full.
pub fn measure(
    folder: &Path,
    chunk_bytes: u64,
    preparation: Preparation,
    measure_ns: u64,
) -> anyhow::Result<DiskFloor> {
    let path = folder.join("floor");
    let file = prepared_file(&path, preparation).context("prepare the floor's file")?;
    let chunk = vec![0x5A; usize::try_from(chunk_bytes)?];
    let clock = Clock::start();
    let mut syncs = Latencies::new(0..u64::MAX)?;
    let mut position = 0;
    while clock.now_ns() < measure_ns && position + chunk_bytes <= FILE_BYTES {
        file.write_all_at(&chunk, position)?;
        let written_ns = clock.now_ns();
        file.sync_data()?;
        syncs.record(written_ns, clock.now_ns());
        position += chunk_bytes;
    }
    let seconds = clock.now_ns() as f64 / SECOND_NS as f64;
    std::fs::remove_file(&path)?;
    Ok(DiskFloor {
        chunk_bytes,
        preparation,
        bytes_per_second: position as f64 / seconds,
        sync: syncs.summary(),
    })
}

/// A file for appends that overwrite nothing but zeros, as [`Preparation`] says.
pub fn prepared_file(path: &Path, preparation: Preparation) -> anyhow::Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    match preparation {
        Preparation::Grown => {}
        Preparation::Allocated => fallocate(&file, FallocateFlags::empty(), 0, FILE_BYTES)?,
        Preparation::Zeroed => {
            let zeros = vec![0; 4 << 20];
            for position in (0..FILE_BYTES).step_by(zeros.len()) {
                file.write_all_at(&zeros, position)?;
            }
        }
    }
    file.sync_all()?;
    Ok(file)
}
