//! Appending to the Raft log: group commits, new segments after failures, truncation.
//!
//! Invariants:
//! - One group commit is one frame and one sync. When [`RaftLog::append`] returned `Ok`, the hard
//!   state and the entries are durable.
//! - After `Err` nothing is lost and nothing has changed: the caller keeps the entries and calls again
//!   with the same ones (or more). The failed segment is never written or synced again; the next
//!   call begins a new one that repeats everything not known durable.
//! - Every segment begins with term, vote, commit and membership, so that older ones can go at any
//!   time; they go oldest first.
//!
//! Not here: retrying and waiting (the node's loop), reading (`recovery`).

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use raft::eraftpb::{Entry, HardState};
use tidemill_appendfile::{AppendFile, Covered, DiskError, FrameParts, SharedDisk};
use tidemill_base::ErrorKind;
use tidemill_base::twins::{self, Twin};
use tracing::{debug, info, warn};

use crate::log::LogPosition;
use crate::log::record::{Append, LogIdentity, Membership, Start};
use crate::log::recovery::Recovered;
use crate::log::segment::{self, Segment};
use crate::metrics::{self, RaftMetrics};
use crate::options::LogOptions;

#[cfg(test)]
mod tests;

/// Space is reserved on the disk in steps of this size, ahead of what is written.
const RESERVE_BYTES: u64 = 4 << 20;

/// Beyond this many segments the oldest go even if little log stays: restarts and failures each
/// begin one, however little is in it.
const SEGMENTS_MAX: usize = 64;

/// The log being written.
pub(crate) struct RaftLog {
    disk: SharedDisk,
    options: LogOptions,
    metrics: Arc<RaftMetrics>,
    identity: LogIdentity,
    hard_state: HardState,
    membership: Membership,
    /// The last entry that is durable.
    proven: LogPosition,
    /// Entries of an earlier life above `proven`, written again with the first segment.
    unproven: Vec<Entry>,
    /// Whether the next segment voids all older ones.
    fresh: bool,
    current: Option<AppendFile>,
    /// Up to here space is reserved for `current`.
    reserved_bytes: u64,
    /// Oldest first; the last one is `current`, if there is a current one.
    segments: VecDeque<Segment>,
    /// Segments in which nothing became durable; removed once a later one is durable.
    abandoned: Vec<u64>,
    next_number: u64,
}

impl RaftLog {
    /// A new log. Nothing is written before the first append.
    pub(crate) fn create(
        disk: SharedDisk,
        options: LogOptions,
        metrics: Arc<RaftMetrics>,
        identity: LogIdentity,
        membership: Membership,
    ) -> Self {
        Self {
            disk,
            options,
            metrics,
            identity,
            hard_state: HardState::default(),
            membership,
            proven: LogPosition::default(),
            unproven: Vec::new(),
            fresh: true,
            current: None,
            reserved_bytes: 0,
            segments: VecDeque::new(),
            abandoned: Vec::new(),
            next_number: 1,
        }
    }

    /// Goes on with a recovered log. What it found unproven is durable after the first append,
    /// which has to come before anything relies on it.
    pub(crate) fn resume(
        disk: SharedDisk,
        options: LogOptions,
        metrics: Arc<RaftMetrics>,
        identity: LogIdentity,
        recovered: &mut Recovered,
    ) -> Self {
        Self {
            disk,
            options,
            metrics,
            identity,
            hard_state: recovered.hard_state.clone(),
            membership: recovered.membership.clone(),
            proven: recovered.proven,
            unproven: std::mem::take(&mut recovered.unproven),
            fresh: false,
            current: None,
            reserved_bytes: 0,
            segments: std::mem::take(&mut recovered.segments),
            abandoned: std::mem::take(&mut recovered.void),
            next_number: recovered.next_number,
        }
    }

    /// Makes the hard state and `entries` durable together, in one sync.
    pub(crate) async fn append(
        &mut self,
        hard_state: &HardState,
        entries: &[Entry],
    ) -> Result<(), DiskError> {
        if self.current.is_some() {
            let record = Append::encode(hard_state, entries);
            self.write(&[record]).await?;
        } else {
            self.append_to_new_segment(hard_state, entries).await?;
        }
        self.hard_state = hard_state.clone();
        if let Some(last) = entries.last() {
            self.note_durable(LogPosition::of(last));
        }
        self.metrics.observe_append(entries.len() as u64);
        self.roll_if_full();
        Ok(())
    }

    /// Makes a membership durable.
    pub(crate) async fn set_membership(&mut self, membership: Membership) -> Result<(), DiskError> {
        if self.current.is_none() {
            self.append_to_new_segment(&self.hard_state.clone(), &[]).await?;
        }
        let record = membership.encode();
        self.write(&[record]).await?;
        self.membership = membership;
        Ok(())
    }

    /// Starts the log anew after `position`: a snapshot up to it took the place of all entries.
    /// Calling it again after an error, or after a crash, completes it.
    pub(crate) async fn start_anew(
        &mut self,
        position: LogPosition,
        membership: Membership,
    ) -> Result<(), DiskError> {
        self.current = None;
        self.unproven.clear();
        self.proven = position;
        self.membership = membership;
        self.fresh = true;
        self.hard_state.commit = self.hard_state.commit.max(position.index);
        self.hard_state.term = self.hard_state.term.max(position.term);
        self.append_to_new_segment(&self.hard_state.clone(), &[]).await
    }

    /// Removes the oldest segments whose entries are all at or below `saved_index`, keeping
    /// `log_kept_bytes` of log. Returns the index before the first entry left.
    pub(crate) async fn truncate_front(&mut self, saved_index: u64) -> u64 {
        if !self.abandoned.is_empty() {
            // A void segment that outlived its successors would look like a log with a hole.
            return self.base_index();
        }
        let mut kept_bytes: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        while let (Some(front), Some(next)) = (self.segments.front(), self.segments.get(1)) {
            let covered = front.last_index.max(next.proven_index) <= saved_index;
            let enough = kept_bytes - front.bytes >= self.options.log_kept_bytes
                || self.segments.len() > SEGMENTS_MAX;
            if !covered || !enough {
                break;
            }
            if let Err(error) = self.disk.remove(&segment::path(front.number)).await {
                warn!(segment = front.number, %error, "an old segment of the metadata log stays");
                break;
            }
            kept_bytes -= front.bytes;
            self.segments.pop_front();
        }
        metrics::set(&self.metrics.segments, self.segments.len() as u64);
        self.base_index()
    }

    /// Who the members are, as last made durable.
    pub(crate) fn membership(&self) -> &Membership {
        &self.membership
    }

    fn base_index(&self) -> u64 {
        self.segments.front().map_or(self.proven.index, |segment| segment.proven_index)
    }

    fn note_durable(&mut self, last: LogPosition) {
        self.proven = last;
        if let Some(segment) = self.segments.back_mut() {
            segment.last_index = segment.last_index.max(last.index);
        }
    }

    async fn append_to_new_segment(
        &mut self,
        hard_state: &HardState,
        entries: &[Entry],
    ) -> Result<(), DiskError> {
        let newest = self.abandoned.pop();
        self.remove_abandoned().await;
        self.abandoned.extend(newest);
        if let Some(first) = entries.first() {
            self.unproven.retain(|entry| entry.index < first.index);
        }
        let mut records = vec![self.begin_segment(hard_state).await?];
        if let Some(last) = self.unproven.last().map(LogPosition::of) {
            // On their own, so that the next record proves them: else every life that ends after
            // its first append would leave all of them to the next one.
            records.push(Append::encode(hard_state, &self.unproven));
            self.write(&records).await?;
            records.clear();
            self.unproven.clear();
            self.note_durable(last);
        }
        if !entries.is_empty() {
            records.push(Append::encode(hard_state, entries));
        }
        if !records.is_empty() {
            self.write(&records).await?;
        }
        self.hard_state = hard_state.clone();
        if self.fresh {
            let older = self.segments.len().saturating_sub(1);
            self.abandoned.extend(self.segments.drain(..older).map(|segment| segment.number));
            self.fresh = false;
        }
        if let Some(last) = entries.last() {
            self.note_durable(LogPosition::of(last));
        }
        self.remove_abandoned().await;
        metrics::set(&self.metrics.segments, self.segments.len() as u64);
        Ok(())
    }

    /// Creates the next segment and returns its first record, not yet written.
    async fn begin_segment(&mut self, hard_state: &HardState) -> Result<Bytes, DiskError> {
        let reserve_bytes = RESERVE_BYTES.min(self.options.segment_bytes);
        let (number, file) = match self.create_file(reserve_bytes).await {
            // Without a reserve a few more commits may fit.
            Err(error) if error.full && reserve_bytes > 0 => self.create_file(0).await?,
            created => created?,
        };
        Ok(self.adopt(number, file, hard_state))
    }

    async fn create_file(&mut self, reserve_bytes: u64) -> Result<(u64, AppendFile), DiskError> {
        let number = self.next_number;
        let path = segment::path(number);
        let header = segment::header(number).ok_or_else(|| {
            DiskError::new("create", &path, ErrorKind::Bug, "a segment's name is too long")
        })?;
        // Whatever becomes of the file, its number is not used again and it is cleaned up.
        self.next_number += 1;
        self.abandoned.push(number);
        let file = AppendFile::create(&*self.disk, &path, &header, reserve_bytes).await?;
        self.abandoned.pop();
        self.reserved_bytes = reserve_bytes;
        Ok((number, file))
    }

    fn adopt(&mut self, number: u64, file: AppendFile, hard_state: &HardState) -> Bytes {
        self.segments.push_back(Segment {
            number,
            proven_index: self.proven.index,
            last_index: self.proven.index,
            bytes: file.position(),
        });
        self.current = Some(file);
        // What is committed beyond the proven entries is repeated by the record that brings them.
        let commit = hard_state.commit.min(self.proven.index);
        let start = Start {
            identity: self.identity,
            segment: number,
            proven: self.proven,
            fresh: self.fresh,
            hard_state: HardState { commit, ..hard_state.clone() },
            membership: self.membership.clone(),
        };
        start.encode()
    }

    /// Writes records, one frame each, and syncs. On failure the current segment is given up.
    async fn write(&mut self, records: &[Bytes]) -> Result<(), DiskError> {
        let Some(file) = self.current.as_mut() else {
            return Err(DiskError::new("write", "", ErrorKind::Bug, "no segment is open"));
        };
        let payloads: Vec<[Bytes; 1]> = records.iter().map(|record| [record.clone()]).collect();
        let frames: Vec<FrameParts<'_>> =
            payloads.iter().map(|payload| FrameParts { payload, covered: Covered::All }).collect();
        let before = file.position();
        let needed = before + records.iter().map(Bytes::len).sum::<usize>() as u64;
        if needed > self.reserved_bytes {
            let ahead = (needed + RESERVE_BYTES).min(self.options.segment_bytes);
            self.reserved_bytes = needed.max(ahead);
            if let Err(error) = file.reserve(self.reserved_bytes).await {
                debug!(%error, "no space is reserved for the metadata log; the write may do");
            }
        }
        let result = match file.append_all(&frames).await {
            Ok(_) => sync(file, &self.metrics).await,
            Err(error) => Err(error),
        };
        if let Err(error) = result {
            self.give_up_segment(&error);
            return Err(error);
        }
        let position = file.position();
        metrics::add(&self.metrics.bytes_appended, position.saturating_sub(before));
        if let Some(segment) = self.segments.back_mut() {
            segment.bytes = position;
        }
        Ok(())
    }

    fn give_up_segment(&mut self, error: &DiskError) {
        metrics::add(&self.metrics.append_failures, 1);
        self.current = None;
        let Some(segment) = self.segments.back() else { return };
        warn!(segment = segment.number, %error, "writing the metadata log failed; a new segment takes over");
        // A segment with nothing durable in it is dropped; the others are needed as they are.
        let began_here = segment.bytes <= tidemill_appendfile::HEADER_BYTES as u64;
        if began_here && let Some(segment) = self.segments.pop_back() {
            self.abandoned.push(segment.number);
        }
    }

    fn roll_if_full(&mut self) {
        let full = self
            .current
            .as_ref()
            .is_some_and(|file| file.position() >= self.options.segment_bytes.max(1));
        if full {
            self.current = None;
        }
    }

    /// Removes the files of segments that hold nothing. The newest one stays until a later segment
    /// is durable, so that no number is ever used twice: an old frame could look like a new one.
    async fn remove_abandoned(&mut self) {
        for number in std::mem::take(&mut self.abandoned) {
            match self.disk.remove(&segment::path(number)).await {
                Ok(()) => info!(segment = number, "removed a void segment of the metadata log"),
                Err(error) => {
                    warn!(segment = number, %error, "a void segment of the metadata log stays");
                    self.abandoned.push(number);
                }
            }
        }
    }
}

async fn sync(file: &mut AppendFile, metrics: &RaftMetrics) -> Result<(), DiskError> {
    if twins::is_on(Twin::AckBeforeCommit) {
        return Ok(());
    }
    let began = tokio::time::Instant::now();
    let mut result = file.sync().await;
    if twins::is_on(Twin::RetrySameFileAfterFailedSync) && result.is_err() {
        result = file.sync().await;
    }
    result?;
    metrics.observe_sync(began.elapsed());
    Ok(())
}
