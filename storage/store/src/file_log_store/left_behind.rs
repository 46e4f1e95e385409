//! Giving back the space that files of an earlier life reserved and never used.
//!
//! A process that was killed leaves its last file of each lane with reserved space behind the last
//! object. It is cut off only where every byte behind the last whole frame is zero: then nothing can
//! be lost, whatever the frames say.

use tidemill_appendfile::scan::{read_header, skim_to_end};
use tidemill_appendfile::{DiskError, ReadFile, SharedDisk, TailVerdict};
use tidemill_base::ErrorKind;

use crate::file_name::LOG_DIRECTORY;

/// A file that ends with fewer zeros than this was given back already.
const TAIL_BYTES: usize = 4096;

/// How much is looked at once for anything but zeros.
const LOOK_BYTES: usize = 256 * 1024;

/// Gives back what the named files of the log directory hold in vain. Failures are said and passed
/// over.
pub(super) async fn trim_all(disk: SharedDisk, names: Vec<String>) {
    for name in names {
        let path = format!("{LOG_DIRECTORY}/{name}");
        match trim(&disk, &path).await {
            Ok(0) => {}
            Ok(bytes) => {
                tracing::info!(path, bytes, "reserved space of an earlier life given back")
            }
            // It was deleted meanwhile.
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, "reserved space of an earlier life is kept"),
        }
    }
}

/// Cuts off the zeros behind the last frame, and returns how many those were.
async fn trim(disk: &SharedDisk, path: &str) -> Result<u64, DiskError> {
    let file = disk.open(path).await?;
    let length = file.length().await?;
    if !is_zero(file.as_ref(), length.saturating_sub(TAIL_BYTES as u64), length).await? {
        return Ok(0);
    }
    // A file whose header is not there was never synced; what becomes of it is the collector's.
    let Ok(header) = read_header(file.as_ref()).await? else { return Ok(0) };
    let end = skim_to_end(file.as_ref(), &header, u32::MAX).await?;
    let is_clean = end.verdict == TailVerdict::Clean && end.position < length;
    if !is_clean || !is_zero(file.as_ref(), end.position, length).await? {
        return Ok(0);
    }
    disk.truncate(path, end.position).await?;
    Ok(length - end.position)
}

async fn is_zero(file: &dyn ReadFile, mut from: u64, to: u64) -> Result<bool, DiskError> {
    while from < to {
        let asked = (to - from).min(LOOK_BYTES as u64) as usize;
        let bytes = file.read(from, asked).await?;
        if bytes.is_empty() || bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        from += bytes.len() as u64;
    }
    Ok(true)
}
