//! Recent log objects in memory, shared without copies.
//!
//! The bytes are the very slices of the request frames they came in with. They are immutable: the head
//! of a batch that differs when served is written into the response, not here.
//!
//! Invariants:
//! - What is held never adds up to more than the budget; the oldest objects go first.
//! - A read is answered whole or not at all.
//!
//! Non-obvious: a slice keeps the whole allocation it points into. The sum counts the slices and
//! [`PART_OVERHEAD_BYTES`] for each; whoever puts slices in sees to it that they are nearly all of
//! their allocation.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use parking_lot::RwLock;
use tidemill_base::{FileId, Location};

/// What holding one part costs beside its bytes: the slice, its place, and its share of the frame
/// around it.
pub const PART_OVERHEAD_BYTES: u64 = 128;

/// A part of an object: its position counted from the object's first byte, and its bytes.
pub type HotPart = (u32, Bytes);

/// Recent log objects.
#[derive(Debug)]
pub struct HotCache {
    budget_bytes: u64,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<(FileId, u64), HotObject>,
    /// Objects in the order in which they came, each with the ticket it came with.
    order: VecDeque<(u64, FileId, u64)>,
    next_ticket: u64,
    held_bytes: u64,
}

#[derive(Debug)]
struct HotObject {
    /// Sorted by position.
    parts: Vec<HotPart>,
    held_bytes: u64,
    ticket: u64,
}

impl HotCache {
    /// An empty cache that holds at most `budget_bytes`.
    #[must_use]
    pub fn new(budget_bytes: u64) -> Self {
        Self { budget_bytes, state: RwLock::default() }
    }

    /// Keeps an object's parts, in place of what was kept for that location. `parts` are sorted by
    /// position and need not cover the object. An object larger than the budget is not kept.
    pub fn insert(&self, location: Location, parts: Vec<HotPart>) {
        let held = |(_, bytes): &HotPart| bytes.len() as u64 + PART_OVERHEAD_BYTES;
        let held_bytes = parts.iter().map(held).sum();
        if held_bytes > self.budget_bytes || parts.is_empty() {
            return;
        }
        let mut state = self.state.write();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let key = (location.file, location.position);
        if let Some(replaced) = state.objects.insert(key, HotObject { parts, held_bytes, ticket }) {
            state.held_bytes -= replaced.held_bytes;
        }
        state.order.push_back((ticket, location.file, location.position));
        state.held_bytes += held_bytes;
        state.shrink_to(self.budget_bytes);
    }

    /// The `length` bytes at `position` of a file, as slices of what is held; `None` if not all of
    /// them are.
    #[must_use]
    pub fn get(&self, file: FileId, position: u64, length: usize) -> Option<Vec<Bytes>> {
        let state = self.state.read();
        let (key, object) = state.objects.range(..=(file, position)).next_back()?;
        if key.0 != file {
            return None;
        }
        object.slices(u32::try_from(position - key.1).ok()?, length)
    }

    /// Drops all objects of a file.
    pub fn remove_file(&self, file: FileId) {
        let mut state = self.state.write();
        let inside = (file, 0)..=(file, u64::MAX);
        let keys: Vec<_> = state.objects.range(inside).map(|(key, _)| *key).collect();
        for key in keys {
            state.remove(key);
        }
        // The tickets that are left name nothing any more and are passed over when they come up.
    }

    /// What is held now, overheads included.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.state.read().held_bytes
    }

    /// The most that is held.
    #[must_use]
    pub fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }
}

impl State {
    fn shrink_to(&mut self, budget_bytes: u64) {
        while self.held_bytes > budget_bytes || self.has_stale_front() {
            let Some((ticket, file, position)) = self.order.pop_front() else { return };
            let key = (file, position);
            if self.objects.get(&key).is_some_and(|object| object.ticket == ticket) {
                self.remove(key);
            }
        }
    }

    /// Whether the oldest ticket names nothing any more.
    fn has_stale_front(&self) -> bool {
        self.order.front().is_some_and(|(ticket, file, position)| {
            let object = self.objects.get(&(*file, *position));
            object.is_none_or(|object| object.ticket != *ticket)
        })
    }

    fn remove(&mut self, key: (FileId, u64)) {
        if let Some(object) = self.objects.remove(&key) {
            self.held_bytes -= object.held_bytes;
        }
    }
}

impl HotObject {
    fn slices(&self, position: u32, length: usize) -> Option<Vec<Bytes>> {
        let first = self.parts.partition_point(|(at, _)| *at <= position).checked_sub(1)?;
        let mut slices = Vec::new();
        let mut at = position;
        let mut left = length;
        for (part_at, bytes) in &self.parts[first..] {
            if left == 0 {
                break;
            }
            // Parts that overlap or leave a gap are not what was asked for.
            let start = at.checked_sub(*part_at)? as usize;
            let taken = bytes.len().checked_sub(start)?.min(left);
            if taken == 0 && start > 0 {
                return None;
            }
            slices.push(bytes.slice(start..start + taken));
            at = at.checked_add(u32::try_from(taken).ok()?)?;
            left -= taken;
        }
        (left == 0).then_some(slices)
    }
}

#[cfg(test)]
mod hot_cache_test;
