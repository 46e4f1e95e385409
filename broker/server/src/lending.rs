//! Extents that a socket takes from their file as they lie there.
//!
//! A batch may be sent as it lies in the file if its head there is the one it was committed with. The
//! log writer gives every batch the head it expects it to get (`storage/store/src/writer/heads.rs`),
//! and within an object the heads of a partition are consecutive. An extent has no refused batch
//! inside, so one look at its first head judges all of them.
//!
//! Invariants:
//! - What is lent consists of whole batches that were committed, with the offsets they were given.
//! - Nothing here waits: what the system does not hold in memory is left to the reading path.
//!
//! Not here: checksums. What is lent is not looked at; the consumer checks it, as it does with every
//! broker that sends from the page cache. What is read is checked (`log_bytes.rs`).

use tidemill_base::twins::{self, Twin};
use tidemill_base::{FileRange, Offset};
use tidemill_metadata_state::Extent;
use tidemill_records::{BATCH_HEADER_BYTES, BatchHeader};
use tidemill_storage_store::LogReader;

/// Batches looked at to find where an answer begins or ends in an extent.
const BATCHES_WALKED_MAX: usize = 256;

/// What is wanted of an extent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The first offset.
    pub(crate) from: Offset,
    /// The most bytes.
    pub(crate) bytes_max: usize,
    /// Whether the first batch comes whatever its size.
    pub(crate) at_least_one: bool,
}

/// Batches lent.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) range: FileRange,
    /// Whether they are all that the extent has from the offset asked for on.
    pub(crate) to_the_end: bool,
}

/// What becomes of the batches wanted of an extent.
#[derive(Debug)]
pub(crate) enum Lending {
    /// The socket takes them from their file.
    Lent(Lent),
    /// The first of them is longer than what is wanted.
    TooLong,
    /// They have to be read.
    Read,
}

/// Whether the batches of an extent of which `first` is the first header may be sent as they lie in
/// their file.
fn is_right(first: &BatchHeader, extent: &Extent) -> bool {
    let is_right =
        first.base_offset == extent.base_offset && first.leader_epoch == extent.leader_epoch.0;
    is_right || twins::is_on(Twin::HeadsBelieved)
}

/// The batches wanted of an extent, if they may be sent from their file.
pub(crate) fn lend(reader: &LogReader, extent: &Extent, wanted: Wanted) -> Lending {
    let length = extent.length as usize;
    let Some(first) = header_at(reader, extent, 0).filter(|first| is_right(first, extent)) else {
        return Lending::Read;
    };
    let whole = wanted.from <= extent.base_offset && length <= wanted.bytes_max;
    let (from, to) = match whole {
        true => (0, length),
        false => match walk(reader, extent, first, wanted) {
            Some((from, to)) if from == to => return Lending::TooLong,
            Some(found) => found,
            None => return Lending::Read,
        },
    };
    match reader.lend(extent.file, extent.position + from as u64, to - from) {
        Some(range) => Lending::Lent(Lent { range, to_the_end: to == length }),
        None => Lending::Read,
    }
}

/// Where in an extent the batches lie that are wanted; nothing between the two if not even the first
/// fits. `None` if that cannot be told from memory.
fn walk(
    reader: &LogReader,
    extent: &Extent,
    first: BatchHeader,
    wanted: Wanted,
) -> Option<(usize, usize)> {
    let length = extent.length as usize;
    let (mut at, mut offset, mut from) = (0, extent.base_offset, None);
    for _ in 0..BATCHES_WALKED_MAX {
        if at == length {
            break;
        }
        let header = if at == 0 { first } else { header_at(reader, extent, at)? };
        if header.base_offset != offset || header.leader_epoch != extent.leader_epoch.0 {
            return None;
        }
        let next = at.checked_add(header.size_bytes()).filter(|next| *next <= length)?;
        offset = offset.plus(header.offsets_taken());
        if offset > wanted.from {
            let begun = *from.get_or_insert(at);
            let comes_anyway = wanted.at_least_one && begun == at;
            if next - begun > wanted.bytes_max && !comes_anyway {
                break;
            }
        }
        at = next;
    }
    from.map(|from| (from, at))
}

fn header_at(reader: &LogReader, extent: &Extent, at: usize) -> Option<BatchHeader> {
    let mut bytes = [0; BATCH_HEADER_BYTES];
    let is_there = reader.peek(extent.file, extent.position + at as u64, &mut bytes);
    is_there.then(|| BatchHeader::parse(&bytes).ok())?
}
