//! The table of fetch sessions (KIP-227): which exist, at which epoch, and who makes place.
//!
//! A session is checked out while its request is served and checked in with the answer, so that no
//! lock is held meanwhile; a session that is not checked in (its connection died) is gone, and its
//! client starts a new one. Bounds: a number of sessions, and of partitions in all of them.

use std::collections::BTreeMap;

use super::session::{FetchTarget, Session, TopicRef};

/// Epoch of a request that asks for no session, or ends one.
const EPOCH_FINAL: i32 = -1;
/// Epoch of a request that lists all its partitions and starts a session.
const EPOCH_INITIAL: i32 = 0;

/// A session may be evicted for a new one when it was idle for this long.
const EVICTABLE_AFTER_MS: i64 = 120_000;

/// Why an incremental request cannot be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionError {
    /// FETCH_SESSION_ID_NOT_FOUND.
    NotFound,
    /// INVALID_FETCH_SESSION_EPOCH.
    InvalidEpoch,
}

/// What a request says about its session.
#[derive(Debug)]
pub struct SessionRequest {
    /// The session's id, or 0.
    pub id: i32,
    /// The request's place in the session.
    pub epoch: i32,
    /// Partitions asked for, or changed.
    pub targets: Vec<FetchTarget>,
    /// Partitions to forget.
    pub forgotten: Vec<(TopicRef, i32)>,
}

#[derive(Debug)]
struct Entry {
    /// The epoch that the next request must have.
    next_epoch: i32,
    used_at_ms: i64,
    partitions: usize,
    /// `None` while a request is being served.
    session: Option<Session>,
}

/// All sessions of a broker.
#[derive(Debug)]
pub struct FetchSessions {
    entries: BTreeMap<i32, Entry>,
    next_id: i32,
    sessions_max: usize,
    partitions_max: usize,
    partitions: usize,
}

/// A session on loan, or the partitions of a request without one.
#[derive(Debug)]
pub struct Checkout {
    /// The session's id, or 0 if there is none.
    pub id: i32,
    /// Whether the answer names only what changed.
    pub incremental: bool,
    /// The partitions.
    pub session: Session,
}

impl FetchSessions {
    /// A table of at most `sessions_max` sessions with `partitions_max` partitions in all, whose ids
    /// start at `first_id` (above 0, drawn at random by the caller so that ids of an earlier life
    /// are not met again).
    #[must_use]
    pub fn new(sessions_max: usize, partitions_max: usize, first_id: i32) -> Self {
        Self {
            entries: BTreeMap::new(),
            next_id: first_id.max(1),
            sessions_max,
            partitions_max,
            partitions: 0,
        }
    }

    /// How many sessions exist.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no session exists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Begins a request.
    ///
    /// # Errors
    /// The session named does not exist, or the request is not its next.
    pub fn check_out(
        &mut self,
        now_ms: i64,
        request: SessionRequest,
    ) -> Result<Checkout, SessionError> {
        match request.epoch {
            EPOCH_FINAL => {
                self.remove(request.id);
                Ok(Checkout { id: 0, incremental: false, session: Session::new(request.targets) })
            }
            EPOCH_INITIAL => {
                self.remove(request.id);
                let session = Session::new(request.targets);
                let id = self.open(now_ms, session.partitions.len());
                Ok(Checkout { id, incremental: false, session })
            }
            epoch => self.resume(now_ms, epoch, request),
        }
    }

    /// Ends a request: the session waits for its next.
    pub fn check_in(&mut self, id: i32, session: Session) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        self.partitions = self.partitions - entry.partitions + session.partitions.len();
        entry.partitions = session.partitions.len();
        entry.session = Some(session);
    }

    fn resume(
        &mut self,
        now_ms: i64,
        epoch: i32,
        request: SessionRequest,
    ) -> Result<Checkout, SessionError> {
        let entry = self.entries.get_mut(&request.id).ok_or(SessionError::NotFound)?;
        if entry.next_epoch != epoch {
            return Err(SessionError::InvalidEpoch);
        }
        let Some(mut session) = entry.session.take() else {
            return Err(SessionError::InvalidEpoch);
        };
        entry.next_epoch = next_epoch(epoch);
        entry.used_at_ms = now_ms;
        session.forget(request.forgotten);
        request.targets.into_iter().for_each(|target| session.update(target));
        Ok(Checkout { id: request.id, incremental: true, session })
    }

    /// Makes a session if there is place, or one can be made; returns 0 otherwise.
    fn open(&mut self, now_ms: i64, partitions: usize) -> i32 {
        while self.entries.len() >= self.sessions_max
            || self.partitions + partitions > self.partitions_max
        {
            let idle = self
                .entries
                .iter()
                .min_by_key(|(_, entry)| entry.used_at_ms)
                .filter(|(_, entry)| entry.used_at_ms + EVICTABLE_AFTER_MS <= now_ms)
                .map(|(id, _)| *id);
            match idle {
                Some(id) => self.remove(id),
                None => return 0,
            }
        }
        while self.entries.contains_key(&self.next_id) {
            self.next_id = self.next_id.checked_add(1).unwrap_or(1);
        }
        let id = self.next_id;
        self.next_id = id.checked_add(1).unwrap_or(1);
        self.partitions += partitions;
        let entry = Entry {
            next_epoch: next_epoch(EPOCH_INITIAL),
            used_at_ms: now_ms,
            partitions,
            session: None,
        };
        self.entries.insert(id, entry);
        id
    }

    fn remove(&mut self, id: i32) {
        if let Some(entry) = self.entries.remove(&id) {
            self.partitions -= entry.partitions;
        }
    }
}

/// Epochs wrap to 1: 0 and -1 have meanings of their own.
fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: i32, epoch: i32, partitions: &[i32]) -> SessionRequest {
        let targets = partitions
            .iter()
            .map(|partition| FetchTarget {
                topic: TopicRef::Name("t".into()),
                partition: *partition,
                current_leader_epoch: -1,
                fetch_offset: 0,
                last_fetched_epoch: -1,
                partition_max_bytes: 1,
            })
            .collect();
        SessionRequest { id, epoch, targets, forgotten: Vec::new() }
    }

    #[test]
    fn a_session_goes_on_with_its_next_epoch_only() {
        let mut sessions = FetchSessions::new(10, 100, 7);
        let first = sessions.check_out(0, request(0, 0, &[1, 2])).unwrap();
        assert_eq!((first.id, first.incremental), (7, false));
        assert_eq!(
            sessions.check_out(0, request(7, 1, &[])).unwrap_err(),
            SessionError::InvalidEpoch,
            "its first request is still being served"
        );
        sessions.check_in(7, first.session);
        let second = sessions.check_out(0, request(7, 1, &[3])).unwrap();
        assert!(second.incremental);
        assert_eq!(second.session.partitions.len(), 3);
        sessions.check_in(7, second.session);
        let again = sessions.check_out(0, request(7, 1, &[])).unwrap_err();
        assert_eq!(again, SessionError::InvalidEpoch);
        let unknown = sessions.check_out(0, request(8, 1, &[])).unwrap_err();
        assert_eq!(unknown, SessionError::NotFound);
    }

    #[test]
    fn a_full_table_serves_without_a_session_until_one_is_idle() {
        let mut sessions = FetchSessions::new(1, 100, 1);
        assert_eq!(sessions.check_out(0, request(0, 0, &[1])).unwrap().id, 1);
        assert_eq!(sessions.check_out(1000, request(0, 0, &[1])).unwrap().id, 0);
        assert_eq!(sessions.check_out(EVICTABLE_AFTER_MS, request(0, 0, &[1])).unwrap().id, 2);
        assert_eq!(sessions.len(), 1);
    }

    #[test]
    fn partitions_are_bounded_over_all_sessions() {
        let mut sessions = FetchSessions::new(10, 3, 1);
        assert_eq!(sessions.check_out(0, request(0, 0, &[1, 2])).unwrap().id, 1);
        assert_eq!(sessions.check_out(0, request(0, 0, &[1, 2])).unwrap().id, 0);
        sessions.check_out(0, request(1, -1, &[])).unwrap();
        assert_eq!(sessions.check_out(0, request(0, 0, &[1, 2])).unwrap().id, 2);
    }
}
