//! What the checker knows: every record that was acknowledged, every record that a consumer saw, and
//! what the last audit found. An audit holds the whole log against it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidemill_client::TopicPartition;

use super::stamp::Stamp;

/// So many violations are kept in words; all are counted.
const TOLD_MAX: usize = 20;

/// A partition of the load, by its place in the list.
pub(crate) type Place = usize;

/// All that is known.
#[derive(Debug)]
pub(crate) struct Ledger {
    partitions: Vec<TopicPartition>,
    books: Vec<Mutex<Book>>,
    violations: Mutex<Violations>,
}

/// What is known of a partition.
#[derive(Debug, Default)]
struct Book {
    /// The log as the last audit found it.
    fixed: Vec<Stamp>,
    /// Acknowledged since then.
    acked: BTreeMap<u64, Stamp>,
    /// Seen by the consumer since then.
    seen: BTreeMap<u64, Stamp>,
    /// Where the consumer goes on.
    next_seen: u64,
    /// The last number of each producer in `fixed`.
    last: BTreeMap<u32, u64>,
    /// How many records each idempotent producer has sent: all must be stored once it rests.
    sent: BTreeMap<u32, u64>,
    acked_in_all: u64,
}

/// What went wrong, counted by kind.
#[derive(Debug, Default, Clone)]
pub(crate) struct Violations {
    /// Acknowledged, audited or sent by a producer that gives nothing up, and not there.
    pub(crate) lost: u64,
    /// There twice.
    pub(crate) duplicated: u64,
    /// Before a record that was sent earlier.
    pub(crate) reordered: u64,
    /// Another record at an offset that was acknowledged or seen; offsets left out.
    pub(crate) changed: u64,
    /// Anything else, such as an error that a client should never see.
    pub(crate) other: u64,
    told: Vec<String>,
}

impl Violations {
    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.lost + self.duplicated + self.reordered + self.changed + self.other
    }

    /// The first of them in words.
    pub(crate) fn told(&self) -> &[String] {
        &self.told
    }

    fn tell(&mut self, words: impl fmt::Display) {
        if self.told.len() < TOLD_MAX {
            self.told.push(words.to_string());
        }
    }
}

/// A partition's log as audited: how many records, and a digest of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Digest {
    pub(crate) records: u64,
    pub(crate) hash: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked is a failure of its own; what it wrote is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    /// An empty ledger of these partitions.
    pub(crate) fn new(partitions: Vec<TopicPartition>) -> Self {
        let books = partitions.iter().map(|_| Mutex::default()).collect();
        Self { partitions, books, violations: Mutex::default() }
    }

    /// The partitions, by place.
    pub(crate) fn partitions(&self) -> &[TopicPartition] {
        &self.partitions
    }

    /// An idempotent producer has sent `count` records to the partition so far.
    pub(crate) fn sent(&self, place: Place, producer: u32, count: u64) {
        lock(&self.books[place]).sent.insert(producer, count);
    }

    /// `count` records from `first` on were acknowledged at `base_offset`.
    pub(crate) fn acked(&self, place: Place, base_offset: i64, first: Stamp, count: u64) {
        let Ok(base_offset) = u64::try_from(base_offset) else {
            let words = format!("{} acknowledged {first:?} at {base_offset}", self.name(place));
            return self.other(words);
        };
        let mut book = lock(&self.books[place]);
        book.acked_in_all += count;
        for at in 0..count {
            let stamp = Stamp { number: first.number + at, ..first };
            let before = book.acked.insert(base_offset + at, stamp);
            if before.is_some_and(|before| before != stamp) {
                let mut violations = lock(&self.violations);
                violations.changed += 1;
                let (name, offset) = (self.name(place), base_offset + at);
                violations.tell(format_args!("{name}@{offset}: {before:?} and {stamp:?} acked"));
            }
        }
    }

    /// The consumer got a record.
    pub(crate) fn seen(&self, place: Place, offset: u64, value: Option<&[u8]>) {
        let mut book = lock(&self.books[place]);
        let name = self.name(place);
        if offset != book.next_seen {
            let mut violations = lock(&self.violations);
            violations.changed += 1;
            violations.tell(format_args!(
                "{name}: the consumer expected offset {} and got {offset}",
                book.next_seen
            ));
        }
        book.next_seen = offset + 1;
        let Some(stamp) = value.and_then(Stamp::read) else {
            drop(book);
            return self.other(format_args!("{name}@{offset}: the consumer saw damage"));
        };
        match book.fixed.get(offset as usize) {
            Some(fixed) if *fixed != stamp => {
                let mut violations = lock(&self.violations);
                violations.changed += 1;
                violations.tell(format_args!("{name}@{offset}: was {fixed:?}, consumed {stamp:?}"));
            }
            Some(_) => {}
            None => drop(book.seen.insert(offset, stamp)),
        }
    }

    /// Where the consumer stands in a partition.
    pub(crate) fn next_seen(&self, place: Place) -> u64 {
        lock(&self.books[place]).next_seen
    }

    /// Something that should not have happened.
    pub(crate) fn other(&self, words: impl fmt::Display) {
        let mut violations = lock(&self.violations);
        violations.other += 1;
        violations.tell(words);
    }

    /// All violations so far.
    pub(crate) fn violations(&self) -> Violations {
        lock(&self.violations).clone()
    }

    /// How many records were acknowledged, in all.
    pub(crate) fn acked_in_all(&self) -> u64 {
        self.books.iter().map(|book| lock(book).acked_in_all).sum()
    }

    /// Takes a log over that an earlier run audited.
    pub(crate) fn adopt(&self, place: Place, log: Vec<Stamp>) {
        let mut book = lock(&self.books[place]);
        for stamp in &log {
            book.last.insert(stamp.producer, stamp.number);
        }
        book.fixed = log;
    }

    /// The log as last audited.
    pub(crate) fn digest(&self, place: Place) -> Digest {
        let book = lock(&self.books[place]);
        digest(&book.fixed)
    }

    /// Holds the whole log of a partition, from offset 0 on, against what is known. Every producer
    /// must rest.
    pub(crate) fn audit(&self, place: Place, log: Vec<Stamp>) {
        let mut book = lock(&self.books[place]);
        let mut violations = lock(&self.violations);
        let audit = Audit { name: self.name(place), log: &log, violations: &mut violations };
        audit.run(&mut book);
        book.fixed = log;
        book.acked.clear();
        book.seen.clear();
    }

    fn name(&self, place: Place) -> String {
        self.partitions[place].to_string()
    }
}

/// The digest of a log.
pub(crate) fn digest(log: &[Stamp]) -> Digest {
    let mut hasher = DefaultHasher::new();
    for stamp in log {
        (stamp.producer, stamp.number).hash(&mut hasher);
    }
    Digest { records: log.len() as u64, hash: hasher.finish() }
}

struct Audit<'a> {
    name: String,
    log: &'a [Stamp],
    violations: &'a mut Violations,
}

impl Audit<'_> {
    fn run(mut self, book: &mut Book) {
        self.compare_with_last(book);
        self.follow_producers(book);
        for (offset, stamp) in &book.acked {
            match self.log.get(*offset as usize) {
                Some(found) if found == stamp => {}
                Some(found) => self.changed(*offset, format_args!("acked {stamp:?}, is {found:?}")),
                None => self.lost(1, format_args!("acked {stamp:?} at {offset}, beyond the end")),
            }
        }
        for (offset, stamp) in &book.seen {
            match self.log.get(*offset as usize) {
                Some(found) if found == stamp => {}
                Some(found) => self.changed(*offset, format_args!("saw {stamp:?}, is {found:?}")),
                None => self.changed(*offset, format_args!("saw {stamp:?}, beyond the end")),
            }
        }
        for (producer, sent) in &book.sent {
            let stored = book.last.get(producer).map_or(0, |last| last + 1);
            if stored < *sent {
                let missing = sent - stored;
                self.lost(missing, format_args!("the last {missing} of producer {producer}"));
            }
        }
    }

    fn compare_with_last(&mut self, book: &Book) {
        for (offset, (before, now)) in book.fixed.iter().zip(self.log).enumerate() {
            if before != now {
                self.changed(offset as u64, format_args!("was {before:?}, is {now:?}"));
            }
        }
        let missing = book.fixed.len().saturating_sub(self.log.len());
        if missing > 0 {
            self.lost(missing as u64, format_args!("{missing} audited records"));
        }
    }

    /// New records of each producer must count on from its last one; those of a producer that gives
    /// up what it is not sure of may leave numbers out.
    fn follow_producers(&mut self, book: &mut Book) {
        let mut new: BTreeSet<Stamp> = BTreeSet::new();
        let from = book.fixed.len().min(self.log.len());
        for (at, stamp) in self.log[from..].iter().enumerate() {
            let offset = from + at;
            let expected = book.last.get(&stamp.producer).map_or(0, |last| last + 1);
            let gives_nothing_up = book.sent.contains_key(&stamp.producer);
            if !new.insert(*stamp) || stamp.number < expected && gives_nothing_up {
                self.violations.duplicated += 1;
                self.violations.tell(format_args!("{}@{offset}: {stamp:?} again", self.name));
                continue;
            }
            if stamp.number < expected {
                self.violations.reordered += 1;
                let name = &self.name;
                self.violations
                    .tell(format_args!("{name}@{offset}: {stamp:?} after {}", expected - 1));
                continue;
            }
            if stamp.number > expected && gives_nothing_up {
                let missing = stamp.number - expected;
                self.lost(missing, format_args!("{missing} before {stamp:?} at {offset}"));
            }
            book.last.insert(stamp.producer, stamp.number);
        }
    }

    fn lost(&mut self, count: u64, words: fmt::Arguments<'_>) {
        self.violations.lost += count;
        self.violations.tell(format_args!("{}: lost: {words}", self.name));
    }

    fn changed(&mut self, offset: u64, words: fmt::Arguments<'_>) {
        self.violations.changed += 1;
        self.violations.tell(format_args!("{}@{offset}: {words}", self.name));
    }
}

#[cfg(test)]
mod tests;
