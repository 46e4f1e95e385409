//! P8: garbage goes, and only garbage: no file of the log and no side object goes before its grace is
//! over, and at the end nothing is left that nobody reaches. While room on the disk is low the grace is a
//! short one, that of fetches which are opening the file.
//!
//! Orphans of the life that is running at the end: [`crate::workload::orphans`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tidemill_base::{FileId, TimestampMs};
use tidemill_storage_store::file_name;
use tokio::time::Instant;

use crate::world::disks::Disks;
use crate::world::lives::{GC_GRACE, Life};

/// The grace while room is low.
const GRACE_WHEN_LOW: Duration = Duration::from_secs(1);
/// How long the node may take room for low after there is enough again: the pause between two looks,
/// and a round that has begun.
const LOW_AFTERWARDS: Duration = Duration::from_secs(2);

/// Watches files come and go.
#[derive(Debug, Default)]
pub struct Garbage {
    /// When each file that is known, and there, was freed, as last seen. One that went stays known for
    /// as long as a full disk keeps its deletion from being recorded.
    known: BTreeMap<FileId, Option<TimestampMs>>,
    /// When it was last looked.
    looked: Option<Instant>,
    /// The time of the state then. What was freed since was freed no earlier.
    time: TimestampMs,
}

impl Garbage {
    /// Looks at the files now. Tells of each that went too early.
    pub fn sample(&mut self, life: &Life, disks: &Disks, paths: &[String]) -> Vec<String> {
        let looked = Instant::now();
        let since = self.looked.replace(looked).unwrap_or(looked) - LOW_AFTERWARDS;
        let grace = match disks.was_short_since(since) {
            true => GRACE_WHEN_LOW,
            false => GC_GRACE,
        };
        let there: BTreeSet<FileId> = paths.iter().filter_map(|path| parse(path)).collect();
        let metadata = &life.node.broker().metadata;
        let (now, known) = metadata.with_state(|state| {
            let files = state.files();
            let known: BTreeMap<_, _> = files
                .filter(|file| there.contains(&file.id))
                .map(|file| (file.id, file.freed.map(|freed| freed.at)))
                .collect();
            (state.time(), known)
        });
        let mut violations = Vec::new();
        for (file, freed) in &self.known {
            let age_ms = now.0 - freed.unwrap_or(self.time).0;
            let graced = i128::from(age_ms) >= grace.as_millis() as i128;
            if !there.contains(file) && !graced {
                violations.push(format!(
                    "P8: file {file} went {age_ms} ms after it was freed ({freed:?}, now {now}), \
                     before its grace of {grace:?} was over"
                ));
            }
        }
        (self.known, self.time) = (known, now);
        violations
    }
}

/// The files that are left at the end although nobody reaches them.
#[must_use]
pub fn left_over(life: &Life, paths: &[String]) -> Vec<String> {
    let broker = life.node.broker();
    let known: BTreeSet<FileId> =
        broker.metadata.with_state(|state| state.files().map(|file| file.id).collect());
    let unknown = paths.iter().filter_map(|path| parse(path)).filter(|file| !known.contains(file));
    unknown
        .filter(|file| (file.lane.broker, file.lane.epoch) != (broker.id, broker.epoch))
        .map(|file| format!("P8: file {file} is left though nobody knows it"))
        .collect()
}

fn parse(path: &str) -> Option<FileId> {
    match path.strip_prefix("log/") {
        Some(name) => file_name::parse_append_file(name),
        None => file_name::parse_side_object(path.strip_prefix("objects/")?),
    }
}
