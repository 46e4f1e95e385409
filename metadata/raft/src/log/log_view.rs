//! The log as the Raft library sees it: all terms, and the entries that are not applied yet.
//!
//! An entry is durable before it is added here. Applied entries are dropped from memory: a quorum
//! of one never asks for them again. (Members that lag will be served from the files; until then
//! such a request is answered "later".)

use std::collections::VecDeque;

use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Result, Storage, StorageError};

use crate::log::LogPosition;
use crate::log::terms::Terms;

/// The Raft library's storage.
#[derive(Debug)]
pub(crate) struct LogView {
    terms: Terms,
    /// The newest entries without gaps; the last one is the log's last.
    entries: VecDeque<Entry>,
    hard_state: HardState,
    members: ConfState,
}

impl LogView {
    /// A view of a recovered log whose entries not applied yet are `entries`.
    pub(crate) fn new(
        terms: Terms,
        entries: VecDeque<Entry>,
        hard_state: HardState,
        members: ConfState,
    ) -> Self {
        Self { terms, entries, hard_state, members }
    }

    /// Adds entries that are durable; they replace what has the same or a later index.
    pub(crate) fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        self.terms.cut_after(first.index.saturating_sub(1));
        while self.entries.back().is_some_and(|last| last.index >= first.index) {
            self.entries.pop_back();
        }
        for entry in entries {
            self.terms.push(entry.term);
            self.entries.push_back(entry.clone());
        }
    }

    pub(crate) fn set_hard_state(&mut self, hard_state: HardState) {
        self.hard_state = hard_state;
    }

    pub(crate) fn set_members(&mut self, members: ConfState) {
        self.members = members;
    }

    /// Drops entries up to `applied` from memory.
    pub(crate) fn release(&mut self, applied: u64) {
        while self.entries.front().is_some_and(|first| first.index <= applied) {
            self.entries.pop_front();
        }
        if self.entries.is_empty() {
            self.entries.shrink_to(1024);
        }
    }

    /// Forgets that entries up to `base` ever were: their segments are gone.
    pub(crate) fn truncate_front(&mut self, base: u64) {
        self.release(base);
        self.terms.drop_through(base);
    }

    /// The position of an entry whose term is still known.
    pub(crate) fn position(&self, index: u64) -> Option<LogPosition> {
        self.terms.term(index).map(|term| LogPosition { index, term })
    }
}

impl Storage for LogView {
    fn initial_state(&self) -> Result<RaftState> {
        Ok(RaftState::new(self.hard_state.clone(), self.members.clone()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        context: GetEntriesContext,
    ) -> Result<Vec<Entry>> {
        if low <= self.terms.previous().index {
            return Err(Error::Store(StorageError::Compacted));
        }
        let first = self.entries.front().map_or(self.terms.last().index + 1, |entry| entry.index);
        if low < first || high > self.terms.last().index + 1 {
            let later = context.can_async();
            let error = if later {
                StorageError::LogTemporarilyUnavailable
            } else {
                StorageError::Unavailable
            };
            return Err(Error::Store(error));
        }
        let range = (low - first) as usize..(high.max(low) - first) as usize;
        let mut entries: Vec<Entry> = self.entries.range(range).cloned().collect();
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> Result<u64> {
        match self.terms.term(index) {
            Some(term) => Ok(term),
            None if index < self.terms.previous().index => {
                Err(Error::Store(StorageError::Compacted))
            }
            None => Err(Error::Store(StorageError::Unavailable)),
        }
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.terms.previous().index + 1)
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.terms.last().index)
    }

    fn snapshot(&self, _request_index: u64, _to: u64) -> Result<Snapshot> {
        Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, term: u64) -> Entry {
        Entry { index, term, ..Entry::default() }
    }

    fn view() -> LogView {
        let mut view = LogView::new(
            Terms::new(LogPosition { index: 4, term: 1 }),
            VecDeque::new(),
            HardState::default(),
            ConfState::default(),
        );
        view.append(&[entry(5, 1), entry(6, 1), entry(7, 2)]);
        view
    }

    fn indexes(view: &LogView, low: u64, high: u64) -> Result<Vec<u64>> {
        let entries = view.entries(low, high, None, GetEntriesContext::empty(false))?;
        Ok(entries.iter().map(|entry| entry.index).collect())
    }

    #[test]
    fn applied_entries_leave_memory_but_keep_their_terms() {
        let mut view = view();
        assert_eq!(indexes(&view, 5, 8).unwrap(), [5, 6, 7]);
        view.release(6);
        assert_eq!(indexes(&view, 7, 8).unwrap(), [7]);
        let gone = Error::Store(StorageError::Unavailable);
        assert_eq!(indexes(&view, 6, 8).unwrap_err(), gone);
        assert_eq!(view.term(5).unwrap(), 1);
        view.truncate_front(6);
        assert_eq!(view.first_index().unwrap(), 7);
        assert_eq!(view.term(6).unwrap(), 1, "the entry before the first, for matching");
        assert_eq!(view.term(5).unwrap_err(), Error::Store(StorageError::Compacted));
    }

    #[test]
    fn an_append_replaces_what_follows_its_first_index() {
        let mut view = view();
        view.append(&[entry(6, 3)]);
        assert_eq!(view.last_index().unwrap(), 6);
        assert_eq!(view.term(6).unwrap(), 3);
        assert_eq!(indexes(&view, 5, 7).unwrap(), [5, 6]);
    }
}
