//! The table of fetch sessions (KIP-227): which exist, at which epoch, and who makes place.
//!
//! A session is on loan while its request is served, so that whoever holds the lock of this table does
//! no work that grows with partitions: the request begins ([`FetchSessions::begin`]), its partitions
//! are noted elsewhere, it gets its place ([`FetchSessions::place`], [`FetchSessions::resize`]), and
//! gives it back with the answer ([`FetchSessions::check_in`]) or without one
//! ([`FetchSessions::give_up`]). A session whose request ended without an answer is gone, and its
//! client starts a new one.
//!
//! Bounds: a number of sessions; of partitions in all of them, those on loan included, also if they
//! were ended meanwhile; and as many in fetches without a session, but for those of few partitions,
//! which are always served.

use std::collections::{BTreeMap, BTreeSet};

use super::session::Session;

/// Epoch of a request that asks for no session, or ends one.
const EPOCH_FINAL: i32 = -1;
/// Epoch of a request that lists all its partitions and starts a session.
const EPOCH_INITIAL: i32 = 0;

/// A session may be evicted for a new one when it was idle for this long.
const EVICTABLE_AFTER_MS: i64 = 120_000;

/// A fetch of no more partitions than this needs no place, so that nobody who asks for many keeps
/// others from fetching.
const PARTITIONS_FEW: usize = 1_000;

/// Why a request cannot be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionError {
    /// There is no such session, or no place for what it would become; it is ended then.
    NotFound,
    /// The request is not the session's next.
    InvalidEpoch,
    /// More partitions than a fetch may ever name.
    TooMany,
    /// Fetches under way name so many partitions that there is no place for as many more now.
    NoPlace,
}

/// A request that has begun.
#[derive(Debug)]
pub enum Begun {
    /// It lists all its partitions.
    Full {
        /// Whether it wants to go on as a session.
        wants_session: bool,
    },
    /// It is the next of a session, which is on loan until it is checked in or given up.
    Next(Session),
}

/// What a request takes of the table until it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The session of this id is on loan.
    Session(i32),
    /// A number of partitions, without a session.
    Partitions(usize),
}

#[derive(Debug)]
struct Entry {
    /// The epoch that the next request must have.
    next_epoch: i32,
    used_at_ms: i64,
    partitions: usize,
    /// `None` while a request is being served.
    session: Option<Session>,
    /// Ended while on loan: gone when it comes back.
    has_ended: bool,
}

/// All sessions of a broker.
#[derive(Debug)]
pub struct FetchSessions {
    entries: BTreeMap<i32, Entry>,
    /// Sessions that are not on loan, by when they were last used.
    idle: BTreeSet<(i64, i32)>,
    /// Sessions that are gone, until someone drops them.
    ended: Vec<Session>,
    next_id: i32,
    sessions_max: usize,
    partitions_max: usize,
    partitions: usize,
    partitions_without: usize,
}

impl FetchSessions {
    /// A table of at most `sessions_max` sessions with `partitions_max` partitions in all, whose ids
    /// start at `first_id` (above 0, drawn at random by the caller so that ids of an earlier life
    /// are not met again).
    #[must_use]
    pub fn new(sessions_max: usize, partitions_max: usize, first_id: i32) -> Self {
        Self {
            entries: BTreeMap::new(),
            idle: BTreeSet::new(),
            ended: Vec::new(),
            next_id: first_id.max(1),
            sessions_max,
            partitions_max,
            partitions: 0,
            partitions_without: 0,
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

    /// The most partitions that one fetch may name.
    #[must_use]
    pub fn partitions_of_one_max(&self) -> usize {
        self.partitions_max.max(PARTITIONS_FEW)
    }

    /// Sessions that are gone. To drop them takes as long as they have partitions, so that is left to
    /// whoever holds no lock.
    pub fn take_ended(&mut self) -> Vec<Session> {
        std::mem::take(&mut self.ended)
    }

    /// Begins a request at `epoch` of session `id`.
    ///
    /// # Errors
    /// `NotFound`, `InvalidEpoch`.
    pub fn begin(&mut self, now_ms: i64, id: i32, epoch: i32) -> Result<Begun, SessionError> {
        if epoch == EPOCH_FINAL || epoch == EPOCH_INITIAL {
            self.end(id);
            return Ok(Begun::Full { wants_session: epoch == EPOCH_INITIAL });
        }
        let entry = self.entries.get_mut(&id).filter(|entry| !entry.has_ended);
        let entry = entry.ok_or(SessionError::NotFound)?;
        if entry.next_epoch != epoch {
            return Err(SessionError::InvalidEpoch);
        }
        let session = entry.session.take().ok_or(SessionError::InvalidEpoch)?;
        self.idle.remove(&(entry.used_at_ms, id));
        entry.next_epoch = next_epoch(epoch);
        entry.used_at_ms = now_ms;
        Ok(Begun::Next(session))
    }

    /// A place for a request that lists all its `partitions`: a new session, if it wants one and there
    /// is place or one can be made.
    ///
    /// # Errors
    /// `TooMany`, `NoPlace`.
    pub fn place(
        &mut self,
        now_ms: i64,
        wants_session: bool,
        partitions: usize,
    ) -> Result<Place, SessionError> {
        if wants_session && self.make_place(now_ms, 1, partitions) {
            let id = self.free_id();
            self.partitions += partitions;
            let entry = Entry {
                next_epoch: next_epoch(EPOCH_INITIAL),
                used_at_ms: now_ms,
                partitions,
                session: None,
                has_ended: false,
            };
            self.entries.insert(id, entry);
            return Ok(Place::Session(id));
        }
        if partitions <= PARTITIONS_FEW {
            return Ok(Place::Partitions(0));
        }
        if partitions > self.partitions_max {
            return Err(SessionError::TooMany);
        }
        if self.partitions_without + partitions > self.partitions_max {
            return Err(SessionError::NoPlace);
        }
        self.partitions_without += partitions;
        Ok(Place::Partitions(partitions))
    }

    /// What has `place` turned out to have so many `partitions`. Without a session it only gives place
    /// back: some partitions were named twice.
    ///
    /// # Errors
    /// `NotFound`: there is no place for more. The caller gives the session up.
    pub fn resize(
        &mut self,
        now_ms: i64,
        place: Place,
        partitions: usize,
    ) -> Result<Place, SessionError> {
        let id = match place {
            Place::Session(id) => id,
            Place::Partitions(before) => {
                let after = if partitions <= PARTITIONS_FEW { 0 } else { partitions.min(before) };
                self.partitions_without -= before - after;
                return Ok(Place::Partitions(after));
            }
        };
        let before = self.entries.get(&id).ok_or(SessionError::NotFound)?.partitions;
        if partitions > before && !self.make_place(now_ms, 0, partitions - before) {
            return Err(SessionError::NotFound);
        }
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.partitions = partitions;
            self.partitions = self.partitions - before + partitions;
        }
        Ok(place)
    }

    /// Ends a request: the session waits for its next.
    pub fn check_in(&mut self, id: i32, session: Session) {
        match self.entries.get_mut(&id) {
            Some(entry) if !entry.has_ended => {
                entry.session = Some(session);
                self.idle.insert((entry.used_at_ms, id));
            }
            _ => {
                self.ended.push(session);
                self.remove(id);
            }
        }
    }

    /// Ends a request whose session, if it has one, is not checked in.
    pub fn give_up(&mut self, place: Place) {
        match place {
            Place::Session(id) => self.remove(id),
            Place::Partitions(partitions) => self.partitions_without -= partitions,
        }
    }

    /// Ends a session: at once, or when it comes back.
    fn end(&mut self, id: i32) {
        match self.entries.get_mut(&id) {
            Some(entry) if entry.session.is_none() => entry.has_ended = true,
            _ => self.remove(id),
        }
    }

    /// Whether there is place for so many more, if need be that of sessions which were idle for long.
    fn make_place(&mut self, now_ms: i64, sessions: usize, partitions: usize) -> bool {
        if partitions > self.partitions_max {
            return false;
        }
        while self.entries.len() + sessions > self.sessions_max
            || self.partitions + partitions > self.partitions_max
        {
            match self.idle.first() {
                Some((used_at_ms, id)) if used_at_ms + EVICTABLE_AFTER_MS <= now_ms => {
                    self.remove(*id);
                }
                _ => return false,
            }
        }
        true
    }

    fn free_id(&mut self) -> i32 {
        while self.entries.contains_key(&self.next_id) {
            self.next_id = next_epoch(self.next_id);
        }
        let id = self.next_id;
        self.next_id = next_epoch(id);
        id
    }

    fn remove(&mut self, id: i32) {
        let Some(entry) = self.entries.remove(&id) else { return };
        self.partitions -= entry.partitions;
        self.idle.remove(&(entry.used_at_ms, id));
        self.ended.extend(entry.session);
    }
}

/// Epochs wrap to 1: 0 and -1 have meanings of their own. So do ids.
fn next_epoch(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::{FetchTarget, TopicRef};

    fn session(partitions: usize) -> Session {
        let mut session = Session::default();
        for partition in 0..partitions {
            session.update(FetchTarget {
                topic: TopicRef::Name("t".into()),
                partition: partition as i32,
                current_leader_epoch: -1,
                fetch_offset: 0,
                last_fetched_epoch: -1,
                partition_max_bytes: 1,
            });
        }
        session
    }

    fn next(sessions: &mut FetchSessions, id: i32, epoch: i32) -> Result<Session, SessionError> {
        match sessions.begin(0, id, epoch)? {
            Begun::Next(session) => Ok(session),
            Begun::Full { .. } => panic!("not the next of a session"),
        }
    }

    #[test]
    fn a_session_goes_on_with_its_next_epoch_only() {
        let mut sessions = FetchSessions::new(10, 100, 7);
        assert!(matches!(sessions.begin(0, 0, 0), Ok(Begun::Full { wants_session: true })));
        assert_eq!(sessions.place(0, true, 2), Ok(Place::Session(7)));
        let early = next(&mut sessions, 7, 1).unwrap_err();
        assert_eq!(early, SessionError::InvalidEpoch, "its first request is still being served");
        sessions.check_in(7, session(2));
        assert_eq!(next(&mut sessions, 7, 1).unwrap().len(), 2);
        sessions.resize(0, Place::Session(7), 3).unwrap();
        sessions.check_in(7, session(3));
        assert_eq!(next(&mut sessions, 7, 1).unwrap_err(), SessionError::InvalidEpoch);
        assert_eq!(next(&mut sessions, 8, 1).unwrap_err(), SessionError::NotFound);
    }

    #[test]
    fn a_full_table_serves_without_a_session_until_one_is_idle() {
        let mut sessions = FetchSessions::new(1, 100, 1);
        assert_eq!(sessions.place(0, true, 1), Ok(Place::Session(1)));
        sessions.check_in(1, session(1));
        assert_eq!(sessions.place(1000, true, 1), Ok(Place::Partitions(0)));
        assert_eq!(sessions.place(EVICTABLE_AFTER_MS, true, 1), Ok(Place::Session(2)));
        assert_eq!((sessions.len(), sessions.take_ended().len()), (1, 1));
        let now_ms = 9 * EVICTABLE_AFTER_MS;
        let place = sessions.place(now_ms, true, 1);
        assert_eq!(place, Ok(Place::Partitions(0)), "the session is on loan");
    }

    #[test]
    fn partitions_are_bounded_over_all_sessions() {
        let mut sessions = FetchSessions::new(10, 3, 1);
        assert_eq!(sessions.place(0, true, 2), Ok(Place::Session(1)));
        assert_eq!(sessions.place(0, true, 2), Ok(Place::Partitions(0)));
        sessions.check_in(1, session(2));
        sessions.begin(0, 1, -1).unwrap();
        assert_eq!(sessions.place(0, true, 2), Ok(Place::Session(2)));
    }

    #[test]
    fn a_session_does_not_outgrow_what_all_may_have() {
        let mut sessions = FetchSessions::new(10, 5, 1);
        for id in [1, 2] {
            assert_eq!(sessions.place(0, true, 2), Ok(Place::Session(id)));
            sessions.check_in(id, session(2));
        }
        next(&mut sessions, 2, 1).unwrap();
        sessions.resize(0, Place::Session(2), 3).unwrap();
        assert_eq!(sessions.resize(0, Place::Session(2), 4), Err(SessionError::NotFound));
        sessions.resize(EVICTABLE_AFTER_MS, Place::Session(2), 4).unwrap();
        assert_eq!(sessions.len(), 1, "the other one made place");
        sessions.give_up(Place::Session(2));
        assert_eq!(sessions.place(0, true, 5), Ok(Place::Session(3)));
    }

    /// It can wait for records for a minute, and would be there beside as many others.
    #[test]
    fn a_session_that_is_ended_while_on_loan_counts_until_it_is_back() {
        let mut sessions = FetchSessions::new(10, 3, 1);
        assert_eq!(sessions.place(0, true, 2), Ok(Place::Session(1)));
        sessions.begin(0, 1, 0).unwrap();
        assert_eq!(sessions.place(0, true, 2), Ok(Place::Partitions(0)));
        assert_eq!(next(&mut sessions, 1, 1).unwrap_err(), SessionError::NotFound);
        sessions.check_in(1, session(2));
        assert_eq!((sessions.len(), sessions.take_ended().len()), (0, 1));
        assert_eq!(sessions.place(0, true, 2), Ok(Place::Session(2)));
    }

    #[test]
    fn many_partitions_without_a_session_are_bounded_and_few_are_always_served() {
        let many = PARTITIONS_FEW + 1;
        let mut sessions = FetchSessions::new(0, 2 * many, 1);
        let first = sessions.place(0, true, many).unwrap();
        assert_eq!(first, Place::Partitions(many));
        sessions.place(0, false, many).unwrap();
        assert_eq!(sessions.place(0, false, many), Err(SessionError::NoPlace));
        assert_eq!(sessions.place(0, false, PARTITIONS_FEW), Ok(Place::Partitions(0)));
        sessions.give_up(first);
        assert_eq!(sessions.place(0, false, many), Ok(first));
        assert_eq!(sessions.place(0, false, 2 * many + 1), Err(SessionError::TooMany));
        assert_eq!(sessions.resize(0, first, many), Ok(first));
        let few = sessions.resize(0, first, PARTITIONS_FEW).unwrap();
        assert_eq!(sessions.place(0, false, many), Ok(first), "what was named twice counts once");
        sessions.give_up(few);
        assert!(sessions.is_empty());
    }
}
