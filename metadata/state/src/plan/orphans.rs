//! Stored files that no command ever named: when to refuse them for ever, and when to delete them.
//!
//! A flush that failed, or a fold that was refused as a whole, leaves a file or an object that the
//! state does not know. It is deleted in three steps, of which only the second is a decision of the
//! cluster: it has been there for the *patience*, so that its writer has given it up; a command
//! refuses it for ever (`SealFile` for an append file, `Condemn` for an object); its grace passes.
//!
//! Invariants (P8):
//! - **What may be deleted is not known and can never become known.** Both are read from one state,
//!   and the second is final: floors only rise, a registration that ended never lives again, and
//!   what a floor or an ended registration refuses is refused by every command that adds a reference.
//!   So it does not matter whether the listing or the state is older.
//! - **Clocks decide only when to propose.** A writer that is slower than the patience meets a floor:
//!   its commit is refused and its clients try again, but nothing that was committed is touched.
//! - **No floor rises above what a log lane has decided**, and an append file is sealed only when a
//!   newer one of its lane is there, so that a lane at work is never refused what it has yet to
//!   propose. The newest file of a lane is left alone: the lane may go on in it.
//! - A sealed append file that nothing refers to is garbage like any other ([`super::garbage`]), which
//!   waits for its grace and for a save.
//! - What lies beyond the present registration or life of the cluster is not judged: a state that
//!   was restored from long ago must not delete what it has not heard of.
//!
//! Not here: listing and deleting (`storage/store`).

use std::collections::BTreeMap;
use std::time::Duration;

use tidemill_base::twins::{self, Twin};
use tidemill_base::{FileId, FileNumber, LaneId, LaneKey, LaneSequence};

use crate::command::{Command, Condemn, SEQUENCE_END, SealFile};
use crate::state::MetadataState;

/// Files watched at once; more wait until some of these are gone.
const WATCHED_MAX: usize = 16_384;

/// Commands of one plan.
const COMMANDS_MAX: usize = 64;

/// What the state says of a file in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Nothing is to be done about it: it is reachable, or garbage that is planned elsewhere, or its
    /// lane has not come to it yet, or nothing is known about its writer.
    Kept,
    /// A command may still refer to it, though its lane has probably left it.
    Open,
    /// It is not known, and the floors of its lane refuse it for ever.
    Refused,
    /// It is not known, and the registration that wrote it is over.
    Over,
}

/// What the state says of `file`.
#[must_use]
pub fn standing(state: &MetadataState, file: &FileId) -> Standing {
    let (incarnation, lane) = (state.incarnation(), &file.lane);
    let known = state.file(file);
    let Some(floor) = state.lane_floor(lane).filter(|_| file.incarnation <= incarnation) else {
        return Standing::Kept;
    };
    let is_over = floor.0 == u64::MAX || file.incarnation < incarnation;
    match known {
        Some(known) if file.is_append_file() && !known.sealed && !is_over => Standing::Open,
        Some(_) => Standing::Kept,
        None if is_over => Standing::Over,
        None if file.is_append_file() => match file.number <= state.lane_file_floor(lane) {
            true => Standing::Refused,
            false => Standing::Open,
        },
        None if file.sequence <= floor.0 => Standing::Refused,
        None if is_decided(state, file) => Standing::Open,
        None => Standing::Kept,
    }
}

/// Whether a floor may be raised to this object without refusing a lane what it has yet to propose. In
/// an object lane sequences rise with time, so that age alone tells.
fn is_decided(state: &MetadataState, file: &FileId) -> bool {
    let up_to = match file.lane.lane {
        LaneId::OBJECTS => SEQUENCE_END - 1,
        _ => state.lane_last(&file.lane).map_or(0, |last| last.0),
    };
    file.sequence <= up_to
}

/// A file found in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Which.
    pub file: FileId,
    /// Its length in bytes.
    pub length: u64,
    /// What the state says of it.
    pub standing: Standing,
}

/// What to do now.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OrphanPlan {
    /// Commands to propose.
    pub commands: Vec<Command>,
    /// Files of this registration to delete: they are refused and their grace is over.
    pub deletable: Vec<FileId>,
    /// Files of earlier registrations to delete.
    pub left_over: Vec<FileId>,
}

/// Remembers since when files have been seen that nobody knows.
#[derive(Debug, Default)]
pub struct OrphanWatch {
    watched: BTreeMap<FileId, Watched>,
}

#[derive(Clone, Copy, Debug)]
struct Watched {
    since: Duration,
    /// Since when it is refused, as far as was seen.
    refused_since: Option<Duration>,
}

/// How long to wait for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrphanLimits {
    /// How long a file must have been there before it is refused: longer than any flush lives.
    pub patience: Duration,
    /// How long it must have been refused before it is deleted.
    pub grace: Duration,
}

impl OrphanWatch {
    /// Plans, given everything that the store lists at `now` (a time that only rises).
    pub fn look(&mut self, now: Duration, limits: OrphanLimits, found: &[Found]) -> OrphanPlan {
        let newest = newest_files(found);
        let mut plan = OrphanPlan::default();
        let mut floors: BTreeMap<LaneKey, LaneSequence> = BTreeMap::new();
        let mut seen = BTreeMap::new();
        for Found { file, length, standing } in found {
            let is_newest = newest.get(&file.lane) == Some(&file.number);
            match standing {
                Standing::Kept => continue,
                Standing::Open if file.is_append_file() && is_newest => continue,
                Standing::Over => plan.left_over.push(*file),
                Standing::Open | Standing::Refused if seen.len() < WATCHED_MAX => {
                    let watched = self.seen(*file, *standing, now);
                    seen.insert(*file, watched);
                    if !watched.is_due(now, limits) {
                        continue;
                    }
                    if *standing == Standing::Refused || twins::is_on(Twin::OrphanNotCondemned) {
                        plan.deletable.push(*file);
                    } else if !file.is_append_file() {
                        let floor = floors.entry(file.lane).or_default();
                        *floor = (*floor).max(LaneSequence(file.sequence));
                    } else if plan.commands.len() < COMMANDS_MAX {
                        plan.commands.push(SealFile { file: *file, length: *length }.into());
                    }
                }
                Standing::Open | Standing::Refused => {}
            }
        }
        self.watched = seen;
        let condemned = floors.into_iter().map(|(lane, floor)| Condemn { lane, floor }.into());
        plan.commands.extend(condemned);
        plan
    }

    /// How long until a file that is watched is due; none if none is.
    #[must_use]
    pub fn due_in(&self, now: Duration, limits: OrphanLimits) -> Option<Duration> {
        self.watched.values().map(|watched| watched.due(limits).saturating_sub(now)).min()
    }

    fn seen(&self, file: FileId, standing: Standing, now: Duration) -> Watched {
        let known = self.watched.get(&file).copied();
        let mut watched = known.unwrap_or(Watched { since: now, refused_since: None });
        if standing == Standing::Refused {
            watched.refused_since.get_or_insert(now);
        }
        watched
    }
}

impl Watched {
    fn due(&self, limits: OrphanLimits) -> Duration {
        match self.refused_since {
            Some(since) => since.saturating_add(limits.grace),
            None => self.since.saturating_add(limits.patience),
        }
    }

    fn is_due(&self, now: Duration, limits: OrphanLimits) -> bool {
        now >= self.due(limits)
    }
}

/// The highest number of each lane's append files.
fn newest_files(found: &[Found]) -> BTreeMap<LaneKey, FileNumber> {
    let mut newest = BTreeMap::new();
    for Found { file, .. } in found.iter().filter(|found| found.file.is_append_file()) {
        let highest = newest.entry(file.lane).or_insert(file.number);
        *highest = file.number.max(*highest);
    }
    newest
}

#[cfg(test)]
mod orphans_test;
