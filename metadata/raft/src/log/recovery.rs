//! Reading the log that an earlier life left, up to its torn end.
//!
//! What may be found, and what it means:
//! - Every group commit is one frame followed by a sync. So only the *last* frame of a segment can
//!   be torn, and a frame that is followed by another one was durable. What follows nothing is
//!   *unproven*: it may have been acknowledged, it may never have reached the disk's platter; it is
//!   kept and written again before it counts.
//! - After a failed write a new segment repeats the entries, so an entry may be found twice; the
//!   later one replaces the earlier and all that followed it.
//! - A segment's `Start` names the last entry known durable before it. Less than that in the older
//!   segments is damage, and recovery refuses: it never goes on with a hole.
//!
//! Entries known committed are handed out while reading, so that memory holds only the others.

use std::collections::VecDeque;

use raft::eraftpb::{Entry, HardState};
use tidemill_appendfile::frame::Step;
use tidemill_appendfile::scan::{self, FrameScan};
use tidemill_appendfile::{FileHeader, FrameSeal, ReadFile, SharedDisk, TailVerdict};
use tidemill_base::ErrorKind;
use tracing::{info, warn};

use crate::error::OpenError;
use crate::log::LogPosition;
use crate::log::record::{Append, LogIdentity, LogRecord, Membership, Start};
use crate::log::segment::{self, FRAME_BYTES_MAX, Segment};
use crate::log::terms::Terms;

/// How far behind a torn frame a whole one is looked for.
const DAMAGE_WINDOW_BYTES: usize = 1 << 20;

/// A log being recovered: its segments are known, not yet read.
pub(crate) struct Recovery {
    disk: SharedDisk,
    found: Vec<Found>,
}

/// A file of the log.
struct Found {
    number: u64,
    length: u64,
    /// `None` if nothing in the file was ever durable.
    start: Option<Box<Start>>,
}

/// What a recovered log holds.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) hard_state: HardState,
    pub(crate) membership: Membership,
    pub(crate) terms: Terms,
    /// The entries above the last one known committed.
    pub(crate) tail: VecDeque<Entry>,
    /// The last entry known durable.
    pub(crate) proven: LogPosition,
    /// The entries above it, which have to be written again before they count as durable.
    pub(crate) unproven: Vec<Entry>,
    pub(crate) segments: VecDeque<Segment>,
    /// Files that hold nothing: voided by a fresh segment, or nothing in them was ever durable.
    pub(crate) void: Vec<u64>,
    /// The number for the next segment.
    pub(crate) next_number: u64,
    /// How many torn tails were found.
    pub(crate) torn_tails: u64,
}

impl Recovery {
    /// Lists the segments and finds whose log it is.
    pub(crate) async fn begin(disk: SharedDisk) -> Result<Self, OpenError> {
        let entries = disk.list(segment::DIRECTORY).await.map_err(OpenError::disk)?;
        let mut recovery = Self { disk, found: Vec::new() };
        for entry in entries {
            let Some(number) = segment::number_of(&entry.name) else { continue };
            let start = recovery.read_start(number).await?;
            recovery.found.push(Found { number, length: entry.length, start });
        }
        recovery.found.sort_unstable_by_key(|found| found.number);
        Ok(recovery)
    }

    /// Whose log it is; `None` if there is no log yet.
    pub(crate) fn identity(&self) -> Option<LogIdentity> {
        self.starts().next().map(|start| start.identity)
    }

    fn starts(&self) -> impl Iterator<Item = &Start> {
        self.found.iter().filter_map(|found| found.start.as_deref())
    }

    /// Reads the segments from the last one on that begins at or below `saved_index`: what is older
    /// adds nothing to a state that covers that entry. `committed` is called once for each entry
    /// known committed, in order. `None` if there is no log yet.
    pub(crate) async fn read(
        self,
        saved_index: u64,
        mut committed: impl FnMut(&Entry) -> Result<(), OpenError> + Send,
    ) -> Result<Option<Recovered>, OpenError> {
        let Some(identity) = self.identity() else { return Ok(None) };
        let covers = |found: &Found| {
            found.start.as_ref().is_some_and(|start| start.proven.index <= saved_index)
        };
        let first = self.found.iter().rposition(covers).unwrap_or(0);
        let mut reading = Reading::new(identity);
        for found in &self.found[first..] {
            self.read_segment(found, &mut reading, &mut committed).await?;
        }
        let mut recovered = reading.finish()?;
        recovered.next_number = self.found.last().map_or(1, |last| last.number + 1);
        self.add_older(first, &mut recovered);
        Ok(Some(recovered))
    }

    /// Adds the segments that were not read, to be truncated with the others, and those that are
    /// void, to be removed.
    fn add_older(&self, first: usize, recovered: &mut Recovered) {
        let fresh = |found: &Found| found.start.as_ref().is_some_and(|start| start.fresh);
        let began = self.found.iter().rposition(fresh).unwrap_or(0);
        for found in self.found[..first].iter().skip(began).rev() {
            if let Some(start) = &found.start {
                let index = start.proven.index;
                recovered.segments.push_front(Segment {
                    number: found.number,
                    proven_index: index,
                    last_index: index,
                    bytes: found.length,
                });
            }
        }
        let known: Vec<u64> = recovered.segments.iter().map(|segment| segment.number).collect();
        let numbers = self.found.iter().map(|found| found.number);
        recovered.void = numbers.filter(|number| !known.contains(number)).collect();
    }

    /// Removes files whose making was cut short before anything in them was durable. To be called
    /// only when there is no log yet.
    pub(crate) async fn remove_unstarted(&self) -> Result<(), OpenError> {
        for found in self.found.iter().filter(|_| self.identity().is_none()) {
            info!(
                segment = found.number,
                "removing a segment of the metadata log that never began"
            );
            self.disk.remove(&segment::path(found.number)).await.map_err(OpenError::disk)?;
        }
        Ok(())
    }

    async fn read_start(&self, number: u64) -> Result<Option<Box<Start>>, OpenError> {
        let path = segment::path(number);
        let file = self.disk.open(&path).await.map_err(OpenError::disk)?;
        if !self.has_header(&*file, number).await? {
            return Ok(None);
        }
        let header = segment::header(number).ok_or_else(|| bug("a segment's name is too long"))?;
        let mut scan = FrameScan::new(&*file, &header, FRAME_BYTES_MAX);
        let Some(frame) = scan.next().await.map_err(OpenError::disk)? else { return Ok(None) };
        match LogRecord::decode(frame.payload) {
            Ok(LogRecord::Start(start)) if start.segment == number => Ok(Some(start)),
            Ok(_) => Err(corrupt(&path, frame.position, "the segment does not begin as it must")),
            Err(error) => Err(corrupt(&path, frame.position, &error.to_string())),
        }
    }

    /// Whether the file begins with its header. If not, nothing in it was ever durable.
    async fn has_header(&self, file: &dyn ReadFile, number: u64) -> Result<bool, OpenError> {
        let path = segment::path(number);
        match scan::read_header(file).await.map_err(OpenError::disk)? {
            Ok(header) if Some(&header) == segment::header(number).as_ref() => Ok(true),
            Ok(_) => Err(corrupt(&path, 0, "the file is not the one its name says")),
            Err(error) => {
                warn!(file = path, %error, "a segment of the metadata log has no good header");
                Ok(false)
            }
        }
    }

    async fn read_segment(
        &self,
        found: &Found,
        reading: &mut Reading,
        committed: &mut (impl FnMut(&Entry) -> Result<(), OpenError> + Send),
    ) -> Result<(), OpenError> {
        let number = found.number;
        let path = segment::path(number);
        if found.start.is_none() {
            reading.torn_tails += 1;
            return Ok(());
        }
        let file = self.disk.open(&path).await.map_err(OpenError::disk)?;
        let header = segment::header(number).ok_or_else(|| bug("a segment's name is too long"))?;
        let mut scan = FrameScan::new(&*file, &header, FRAME_BYTES_MAX);
        while let Some(frame) = scan.next().await.map_err(OpenError::disk)? {
            let record = LogRecord::decode(frame.payload)
                .map_err(|error| corrupt(&path, frame.position, &error.to_string()))?;
            reading
                .take(number, record, committed)
                .map_err(|reason| reason.at(&path, frame.position))?;
        }
        let Some(end) = scan.end() else { return Ok(()) };
        if let Some(segment) = reading.segments.back_mut().filter(|last| last.number == number) {
            segment.bytes = end.position;
        }
        if let TailVerdict::Torn(reason) = end.verdict {
            if frame_follows(&*file, &header, end.position).await? {
                return Err(corrupt(&path, end.position, "bytes that were synced are damaged"));
            }
            reading.torn_tails += 1;
            let bytes = found.length.saturating_sub(end.position);
            let reason = format!("{reason:?}");
            warn!(
                file = path,
                position = end.position,
                bytes,
                reason,
                "torn tail of the metadata log"
            );
        }
        // Cuts what a write that never finished left, and gives back reserved space.
        if found.length > end.position
            && let Err(error) = self.disk.truncate(&path, end.position).await
        {
            warn!(file = path, %error, "the tail of the segment stays; nothing will read it");
        }
        Ok(())
    }
}

/// Whether a whole frame stands somewhere behind a torn one. A frame is written only after the one
/// before it was synced, so then this is no torn tail but damage.
async fn frame_follows(
    file: &dyn ReadFile,
    header: &FileHeader,
    torn: u64,
) -> Result<bool, OpenError> {
    let window = file.read(torn, DAMAGE_WINDOW_BYTES).await.map_err(OpenError::disk)?;
    let seal = FrameSeal::of(header);
    let longest = DAMAGE_WINDOW_BYTES as u32;
    let is_frame = |at: usize| {
        let step = seal.step(torn + at as u64, &window[at..], true, longest);
        matches!(step, Step::Frame { .. })
    };
    Ok((1..window.len()).any(is_frame))
}

/// Why a record cannot follow what was read before.
enum Refused {
    Damage(&'static str),
    Open(OpenError),
}

impl Refused {
    fn at(self, path: &str, position: u64) -> OpenError {
        match self {
            Self::Damage(reason) => corrupt(path, position, reason),
            Self::Open(error) => error,
        }
    }
}

/// What was read so far.
struct Reading {
    identity: LogIdentity,
    hard_state: HardState,
    membership: Membership,
    log: Option<Terms>,
    tail: VecDeque<Entry>,
    proven_index: u64,
    /// The entries above `proven_index`.
    unproven: VecDeque<Entry>,
    /// The last index appended within the segment being read, or 0.
    appended_here: u64,
    segments: VecDeque<Segment>,
    torn_tails: u64,
}

impl Reading {
    fn new(identity: LogIdentity) -> Self {
        Self {
            identity,
            hard_state: HardState::default(),
            membership: Membership::default(),
            log: None,
            tail: VecDeque::new(),
            proven_index: 0,
            unproven: VecDeque::new(),
            appended_here: 0,
            segments: VecDeque::new(),
            torn_tails: 0,
        }
    }

    fn take(
        &mut self,
        number: u64,
        record: LogRecord,
        committed: &mut impl FnMut(&Entry) -> Result<(), OpenError>,
    ) -> Result<(), Refused> {
        let started = self.segments.back().is_some_and(|segment| segment.number == number);
        match record {
            LogRecord::Start(start) if !started => self.start(number, *start),
            LogRecord::Append(append) if started => self.append(append),
            LogRecord::Membership(membership) if started => {
                self.prove();
                self.membership = membership;
                Ok(())
            }
            _ => Err(Refused::Damage("the record is not in its place")),
        }?;
        while self.tail.front().is_some_and(|entry| entry.index <= self.hard_state.commit) {
            if let Some(entry) = self.tail.pop_front() {
                committed(&entry).map_err(Refused::Open)?;
            }
        }
        Ok(())
    }

    fn start(&mut self, number: u64, start: Start) -> Result<(), Refused> {
        if start.identity != self.identity || start.segment != number {
            return Err(Refused::Damage("the segment belongs to another log"));
        }
        match &self.log {
            Some(log) if !start.fresh => {
                if log.term(start.proven.index) != Some(start.proven.term) {
                    return Err(Refused::Damage("entries before the segment are missing"));
                }
            }
            _ => {
                self.log = Some(Terms::new(start.proven));
                self.tail.clear();
                self.unproven.clear();
                self.proven_index = 0;
                self.segments.clear();
            }
        }
        self.prove_through(start.proven.index);
        self.appended_here = 0;
        self.adopt(start.hard_state);
        self.membership = start.membership;
        self.segments.push_back(Segment {
            number,
            proven_index: start.proven.index,
            last_index: start.proven.index,
            bytes: 0,
        });
        Ok(())
    }

    fn append(&mut self, append: Append) -> Result<(), Refused> {
        self.prove();
        let Some(log) = self.log.as_mut() else {
            return Err(Refused::Damage("the record is not in its place"));
        };
        for entry in append.entries {
            if log.term(entry.index) == Some(entry.term) {
                // Written again after a failed write or a restart: it is the same entry.
                self.appended_here = self.appended_here.max(entry.index);
                continue;
            }
            if entry.index <= self.hard_state.commit {
                return Err(Refused::Damage("a committed entry is replaced"));
            }
            if entry.index <= log.previous().index || entry.index > log.last().index + 1 {
                return Err(Refused::Damage("entries before the record are missing"));
            }
            if entry.index <= log.last().index {
                log.cut_after(entry.index - 1);
                cut_from(&mut self.tail, entry.index);
                cut_from(&mut self.unproven, entry.index);
                self.proven_index = self.proven_index.min(entry.index - 1);
            }
            log.push(entry.term);
            self.appended_here = entry.index;
            self.unproven.push_back(entry.clone());
            self.tail.push_back(entry);
        }
        if let Some(segment) = self.segments.back_mut() {
            segment.last_index = segment.last_index.max(self.appended_here);
        }
        self.adopt(append.hard_state);
        Ok(())
    }

    /// A further record in the segment proves that the earlier ones were synced.
    fn prove(&mut self) {
        self.prove_through(self.appended_here);
    }

    fn prove_through(&mut self, index: u64) {
        self.proven_index = self.proven_index.max(index);
        while self.unproven.front().is_some_and(|entry| entry.index <= self.proven_index) {
            self.unproven.pop_front();
        }
    }

    fn adopt(&mut self, hard_state: HardState) {
        let commit = self.hard_state.commit.max(hard_state.commit);
        self.hard_state = HardState { commit, ..hard_state };
    }

    fn finish(self) -> Result<Recovered, OpenError> {
        let terms = self.log.ok_or_else(|| bug("a log with an identity has a start"))?;
        if self.hard_state.commit > terms.last().index {
            let reason = "entries known committed are missing at the end";
            return Err(corrupt(segment::DIRECTORY, self.hard_state.commit, reason));
        }
        let index = self.proven_index;
        let proven = LogPosition { index, term: terms.term(index).unwrap_or(0) };
        Ok(Recovered {
            hard_state: self.hard_state,
            membership: self.membership,
            terms,
            tail: self.tail,
            proven,
            unproven: self.unproven.into(),
            segments: self.segments,
            void: Vec::new(),
            next_number: 1,
            torn_tails: self.torn_tails,
        })
    }
}

fn cut_from(entries: &mut VecDeque<Entry>, index: u64) {
    while entries.back().is_some_and(|last| last.index >= index) {
        entries.pop_back();
    }
}

fn corrupt(path: &str, position: u64, reason: &str) -> OpenError {
    OpenError::new(ErrorKind::Corrupt, format!("metadata log {path} at {position}: {reason}"))
}

fn bug(reason: &str) -> OpenError {
    OpenError::new(ErrorKind::Bug, format!("metadata log: {reason}"))
}
