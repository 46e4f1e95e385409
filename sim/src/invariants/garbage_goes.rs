//! P8: garbage goes, and only garbage: no file of the log and no side object goes before its grace is
//! over, and at the end nothing is left that nobody reaches.
//!
//! Orphans of the life that is running at the end: [`crate::workload::orphans`].

use std::collections::{BTreeMap, BTreeSet};

use tidemill_base::{FileId, TimestampMs};
use tidemill_storage_store::file_name;

use crate::world::lives::Life;

/// Watches files come and go.
#[derive(Debug, Default)]
pub struct Garbage {
    /// When each file that is known was freed, as last seen.
    known: BTreeMap<FileId, Option<TimestampMs>>,
}

impl Garbage {
    /// Looks at the files now. Tells of each that went too early.
    pub fn sample(&mut self, life: &Life, paths: &[String], grace_ms: i64) -> Vec<String> {
        let there: BTreeSet<FileId> = paths.iter().filter_map(|path| parse(path)).collect();
        let metadata = &life.node.broker().metadata;
        let (now, known) = metadata.with_state(|state| {
            let files = state.files();
            let known: BTreeMap<_, _> =
                files.map(|file| (file.id, file.freed.map(|freed| freed.at))).collect();
            (state.time(), known)
        });
        let mut violations = Vec::new();
        for (file, freed) in &self.known {
            let graced = freed.is_some_and(|at| now.0 - at.0 >= grace_ms);
            if !there.contains(file) && !graced {
                violations.push(format!("P8: file {file} went before its grace was over"));
            }
        }
        self.known = known;
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
