//! Which extents to fold: all of a sealed file, and the longest runs where too many wait.
//!
//! Only append files are folded: an immutable object holds few extents of each partition, so that
//! folding it would gain nothing (segments take over for those later).

use tidemill_base::digest::{ExtentDigest, ExtentFacts};
use tidemill_base::{FileId, Location, ObjectId, Offset, PartitionId};

use crate::command::{Command, FoldExtents, FoldRun};
use crate::entry::Entry;
use crate::packed::Packed;
use crate::slots::Slot;
use crate::state::MetadataState;

/// When to fold, and how much at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoldPolicy {
    /// Beyond this many extents waiting, those of files that are still open are folded too.
    pub extents_waiting_max: u64,
    /// About how many extents one index object lists (one run is never cut).
    pub index_extents_max: usize,
    /// How many index objects one call plans.
    pub plans_max: usize,
}

impl Default for FoldPolicy {
    fn default() -> Self {
        Self { extents_waiting_max: 256 * 1024, index_extents_max: 64 * 1024, plans_max: 1 }
    }
}

/// The most runs of one command, so that it stays below 1 MiB.
const COMMAND_RUNS_MAX: usize = 16_384;
/// About the most extents that one command replaces, so that applying it takes a millisecond or two
/// and commits do not wait longer.
const COMMAND_EXTENTS_MAX: usize = 8_192;

/// One index object to write, and what it replaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoldPlan {
    /// The file that holds the extents.
    pub file: FileId,
    /// The runs, by partition and offset.
    pub runs: Vec<PlannedRun>,
}

/// One run, with the extents that the index object lists for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlannedRun {
    /// What the command says.
    pub run: FoldRun,
    /// The extents, by offset.
    pub extents: Vec<ExtentFacts>,
}

impl FoldPlan {
    /// The commands to propose once the index object is durable, in as many as fit.
    #[must_use]
    pub fn commands(&self, index: ObjectId, location: Location) -> Vec<Command> {
        let mut commands = Vec::new();
        let mut runs = Vec::new();
        let mut extents = 0;
        for planned in &self.runs {
            if runs.len() >= COMMAND_RUNS_MAX || extents >= COMMAND_EXTENTS_MAX {
                let runs = std::mem::take(&mut runs);
                commands.push(FoldExtents { file: self.file, index, location, runs }.into());
                extents = 0;
            }
            runs.push(planned.run.clone());
            extents += planned.extents.len();
        }
        if !runs.is_empty() {
            commands.push(FoldExtents { file: self.file, index, location, runs }.into());
        }
        commands
    }
}

/// A run before its extents are collected.
#[derive(Clone, Copy)]
struct Run {
    file: Slot,
    partition: PartitionId,
    first: i64,
    end: i64,
    extents: usize,
    length: u32,
}

/// Plans folds: of sealed files first, then of whatever waits beyond the policy's bound. Empty when
/// there is nothing to do, which costs a look at the table of files only.
#[must_use]
pub fn plan(state: &MetadataState, policy: &FoldPolicy) -> Vec<FoldPlan> {
    let mut waiting = state.files.extents_waiting;
    let mut files: Vec<(bool, u32, Slot)> = state
        .files
        .slots
        .iter()
        .filter(|(id, _, file)| id.is_append_file() && file.extents > 0)
        .map(|(_, slot, file)| (file.sealed, file.extents, slot))
        .collect();
    files.sort_by_key(|(sealed, extents, slot)| (!sealed, u32::MAX - extents, *slot));
    let over = |waiting: u64| waiting > policy.extents_waiting_max;
    if !files.first().is_some_and(|(sealed, ..)| *sealed) && !over(waiting) {
        return Vec::new();
    }
    let mut runs = runs_of(state);
    let mut plans = Vec::new();
    for (sealed, _, slot) in files {
        let mut of_file: Vec<Run> = runs.extract_if(.., |run| run.file == slot).collect();
        of_file.sort_by_key(|run| (usize::MAX - run.extents, run.partition, run.first));
        let mut of_file = of_file.into_iter().peekable();
        while plans.len() < policy.plans_max
            && of_file.peek().is_some()
            && (sealed || over(waiting))
        {
            let mut extents = 0;
            let mut chosen = Vec::new();
            while let Some(run) = of_file.next_if(|_| extents < policy.index_extents_max) {
                extents += run.extents;
                chosen.push(run);
            }
            waiting = waiting.saturating_sub(extents as u64);
            plans.extend(collect(state, slot, chosen));
        }
    }
    plans
}

/// Every run of extents of one append file that follow one another.
fn runs_of(state: &MetadataState) -> Vec<Run> {
    let mut runs = Vec::new();
    for (id, partition) in &state.partitions {
        let mut growing: Option<Run> = None;
        for item in partition.log.entries.extents() {
            if let Some(run) = &mut growing
                && run.extend(item)
            {
                continue;
            }
            runs.extend(growing.replace(Run::of(*id, item)));
        }
        runs.extend(growing);
    }
    runs
}

impl Run {
    fn of(partition: PartitionId, item: &Packed) -> Self {
        Self {
            file: item.file,
            partition,
            first: item.base_offset,
            end: item.end(),
            extents: 1,
            length: item.length,
        }
    }

    /// Adds an extent if it follows, in the same file, and the sums still fit a folded entry.
    fn extend(&mut self, item: &Packed) -> bool {
        let fits = u32::try_from(item.end() - self.first).is_ok();
        let length = self.length.checked_add(item.length);
        let (true, Some(length)) =
            (item.file == self.file && item.base_offset == self.end && fits, length)
        else {
            return false;
        };
        self.end = item.end();
        self.length = length;
        self.extents += 1;
        true
    }
}

fn collect(state: &MetadataState, file: Slot, mut runs: Vec<Run>) -> Option<FoldPlan> {
    let (file, _) = state.files.slots.get(file)?;
    runs.sort_by_key(|run| (run.partition, run.first));
    let runs = runs
        .into_iter()
        .filter_map(|run| {
            let entries = &state.partitions.get(&run.partition)?.log.entries;
            let items = entries.iter_from(run.first).take_while(|item| item.base_offset < run.end);
            let extents: Vec<ExtentFacts> = items
                .filter_map(|item| match state.unpack(item)? {
                    Entry::Extent(extent) => Some(extent.facts()),
                    Entry::Folded(_) => None,
                })
                .collect();
            let run = FoldRun {
                partition: run.partition,
                first_offset: Offset(run.first),
                end_offset: Offset(run.end),
                entries: extents.len() as u32,
                digest: ExtentDigest::of(extents.iter().copied()),
            };
            Some(PlannedRun { run, extents })
        })
        .collect();
    Some(FoldPlan { file, runs })
}
