//! What files of an earlier life end with: space that was reserved in vain, and torn objects.
//!
//! A process that was killed leaves its last file of each lane with reserved space behind the last
//! object, and perhaps an object that was never written to its end. Nobody refers to either. What is
//! found is said in the log.
//!
//! Cut off is only what can be told from damage to something that was acknowledged:
//! - zeros that reach from the last whole frame to the end of the file;
//! - fewer bytes than the head of a frame has, at the end of the file;
//! - a frame whose head and covered bytes are right, and that is longer than the rest of the file:
//!   it was never written to its end, so that no sync covered it.
//!
//! Other bytes behind the last whole frame are counted, said and left: if a head was damaged, objects
//! that were acknowledged lie behind it, and readers, who go by positions, still find them.
//!
//! Work is bounded: files that end with zeros, and the last [`FILES_PER_LANE`] files of each lane of
//! the last [`LIVES`] lives, are skimmed from head to head; of a tail no more is read than its zeros.

use std::collections::{BTreeMap, BTreeSet};

use tidemill_appendfile::frame::{Step, TornReason};
use tidemill_appendfile::scan::{read_fully, read_header, skim_to_end};
use tidemill_appendfile::{DiskError, FileHeader, FrameSeal, ReadFile, SharedDisk, TailVerdict};
use tidemill_base::{BrokerEpoch, BrokerId, ErrorKind, FileId, Incarnation, LaneKey};

use crate::file_name::{LOG_DIRECTORY, parse_append_file};

/// A file that ends with fewer zeros than this was given back already.
const TAIL_BYTES: usize = 4096;

/// How much is looked at once for anything but zeros.
const LOOK_BYTES: usize = 256 * 1024;

/// The most that the head and the covered bytes of a frame take; a head that says more is noise.
const COVERED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Files of a lane whose ends are looked at: a kill may find the last but one still untrimmed.
const FILES_PER_LANE: usize = 2;

/// Lives whose ends are looked at: the last one may have been killed while it looked.
const LIVES: usize = 2;

/// How a file of an earlier life ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tail {
    /// Its length as found.
    length: u64,
    /// Its length now.
    cut_to: u64,
    /// Bytes behind the last whole frame that are not reserved space.
    torn_bytes: u64,
}

/// Looks at the ends of the named files of the log directory, and gives back what they hold in vain.
/// Failures are said and passed over.
pub(super) async fn trim_all(disk: SharedDisk, names: Vec<String>) {
    let last = last_files(&names);
    for name in names {
        let path = format!("{LOG_DIRECTORY}/{name}");
        match trim(&disk, &path, last.contains(&name)).await {
            Ok(None) => {}
            Ok(Some(tail)) => tail.tell(&path),
            // It was deleted meanwhile.
            Err(error) if error.kind == ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, "the end of a file of an earlier life is kept"),
        }
    }
}

impl Tail {
    fn tell(&self, path: &str) {
        let Self { length, cut_to, torn_bytes } = *self;
        match (torn_bytes, cut_to < length) {
            (0, _) => tracing::info!(
                path,
                from_bytes = length,
                to_bytes = cut_to,
                torn_bytes,
                "reserved space behind the last object of a log file given back"
            ),
            (_, true) => tracing::info!(
                path,
                from_bytes = length,
                to_bytes = cut_to,
                torn_bytes,
                "torn tail of a log file cut: an object that was never finished, nor acknowledged"
            ),
            (_, false) => tracing::info!(
                path,
                from_bytes = length,
                to_bytes = cut_to,
                torn_bytes,
                "torn tail of a log file left: bytes of no whole object, to which nothing refers"
            ),
        }
    }
}

/// The names of the last files of each lane of the last lives.
fn last_files(names: &[String]) -> BTreeSet<String> {
    let parsed = names.iter().filter_map(|name| Some((parse_append_file(name)?, name)));
    let mut files: Vec<(FileId, &String)> = parsed.collect();
    files.sort_unstable();
    let mut epochs: BTreeMap<(Incarnation, BrokerId), BTreeSet<BrokerEpoch>> = BTreeMap::new();
    let mut of_lane: BTreeMap<(Incarnation, LaneKey), usize> = BTreeMap::new();
    let mut last = BTreeSet::new();
    for (file, name) in files.into_iter().rev() {
        let epochs = epochs.entry((file.incarnation, file.lane.broker)).or_default();
        if epochs.len() < LIVES {
            epochs.insert(file.lane.epoch);
        }
        let before = of_lane.entry((file.incarnation, file.lane)).or_default();
        if epochs.contains(&file.lane.epoch) && *before < FILES_PER_LANE {
            *before += 1;
            last.insert(name.clone());
        }
    }
    last
}

/// Cuts off what can be cut. `None` if the file ends with a whole frame, or was not looked at.
async fn trim(disk: &SharedDisk, path: &str, is_last: bool) -> Result<Option<Tail>, DiskError> {
    let file = disk.open(path).await?;
    let length = file.length().await?;
    let tail_begins = length.saturating_sub(TAIL_BYTES as u64);
    let ends_with_zeros = written_up_to(file.as_ref(), tail_begins, length).await? == tail_begins;
    if !ends_with_zeros && !is_last {
        return Ok(None);
    }
    // A file whose header is not there was never synced; what becomes of it is the collector's.
    let Ok(header) = read_header(file.as_ref()).await? else { return Ok(None) };
    let end = skim_to_end(file.as_ref(), &header, u32::MAX).await?;
    let torn_bytes = written_up_to(file.as_ref(), end.position, length).await? - end.position;
    let may_be_cut = match end.verdict {
        TailVerdict::Clean => torn_bytes == 0,
        TailVerdict::Torn(TornReason::PayloadCut) => {
            is_unfinished(file.as_ref(), &header, end.position).await?
        }
        TailVerdict::Torn(TornReason::HeadCut) => true,
        TailVerdict::Torn(_) => false,
    };
    let cut_to = if may_be_cut { end.position } else { length };
    if cut_to == length && torn_bytes == 0 {
        return Ok(None);
    }
    if cut_to < length {
        disk.truncate(path, cut_to).await?;
    }
    Ok(Some(Tail { length, cut_to, torn_bytes }))
}

/// Whether a frame begins at `position` whose head and covered bytes are right. It is known to be
/// longer than the rest of the file.
async fn is_unfinished(
    file: &dyn ReadFile,
    header: &FileHeader,
    position: u64,
) -> Result<bool, DiskError> {
    let seal = FrameSeal::of(header);
    let mut asked = TAIL_BYTES;
    loop {
        let window = read_fully(file, position, asked).await?;
        match seal.skim_step(position, &window, u64::MAX, u32::MAX) {
            Step::Frame { .. } => return Ok(true),
            Step::Need { bytes } if window.len() == asked && bytes <= COVERED_BYTES_MAX => {
                asked = bytes;
            }
            Step::Need { .. } | Step::End(_) => return Ok(false),
        }
    }
}

/// Where the zeros begin that reach to `to`, not before `from`. Reads backwards, so that of what is
/// not zero only a little is read.
async fn written_up_to(file: &dyn ReadFile, from: u64, to: u64) -> Result<u64, DiskError> {
    let mut end = to;
    while from < end {
        let begin = end.saturating_sub(LOOK_BYTES as u64).max(from);
        let asked = (end - begin) as usize;
        let bytes = read_fully(file, begin, asked).await?;
        if bytes.len() < asked {
            // It became shorter meanwhile: what is not seen is not taken for zeros.
            return Ok(end);
        }
        if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
            return Ok(begin + last as u64 + 1);
        }
        end = begin;
    }
    Ok(from.min(to))
}

#[cfg(test)]
mod left_behind_test;
