//! Files interned to small numbers, with what a state or a projection knows of each.
//!
//! A new file gets the smallest free slot, so that the table is a function of its content and a
//! restored state gives out the same slots as the one it was saved from.

use std::collections::{BTreeMap, BTreeSet};

use tidemill_base::FileId;

/// The number of an interned file.
pub(crate) type Slot = u32;

/// The table of interned files.
#[derive(Clone, Debug)]
pub(crate) struct Slots<V> {
    used: Vec<Option<(FileId, V)>>,
    free: BTreeSet<Slot>,
    by_id: BTreeMap<FileId, Slot>,
}

impl<V> Default for Slots<V> {
    fn default() -> Self {
        Self { used: Vec::new(), free: BTreeSet::new(), by_id: BTreeMap::new() }
    }
}

impl<V> Slots<V> {
    pub(crate) fn find(&self, id: &FileId) -> Option<Slot> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<(FileId, &V)> {
        self.used.get(slot as usize)?.as_ref().map(|(id, value)| (*id, value))
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut V> {
        self.used.get_mut(slot as usize)?.as_mut().map(|(_, value)| value)
    }

    /// The file's slot; a new one holds `value`.
    pub(crate) fn intern(&mut self, id: FileId, value: impl FnOnce() -> V) -> Slot {
        if let Some(slot) = self.find(&id) {
            return slot;
        }
        let slot = self.free.pop_first().unwrap_or(self.used.len() as Slot);
        self.place(slot, id, value());
        slot
    }

    /// Puts a file into a slot that is not in use, as restoring does. Refused if either is taken,
    /// or if the slot is further than `slots_max` (a saved slot number is outside input).
    pub(crate) fn restore(&mut self, slot: Slot, id: FileId, value: V, slots_max: Slot) -> bool {
        if slot >= slots_max || self.by_id.contains_key(&id) || self.get(slot).is_some() {
            return false;
        }
        self.free.remove(&slot);
        self.place(slot, id, value);
        true
    }

    fn place(&mut self, slot: Slot, id: FileId, value: V) {
        while self.used.len() <= slot as usize {
            if self.used.len() < slot as usize {
                self.free.insert(self.used.len() as Slot);
            }
            self.used.push(None);
        }
        self.used[slot as usize] = Some((id, value));
        self.by_id.insert(id, slot);
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> Option<(FileId, V)> {
        let (id, value) = self.used.get_mut(slot as usize)?.take()?;
        self.by_id.remove(&id);
        self.free.insert(slot);
        while self.used.last().is_some_and(Option::is_none) {
            self.used.pop();
            self.free.remove(&(self.used.len() as Slot));
        }
        Some((id, value))
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Every file, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FileId, Slot, &V)> {
        self.by_id.iter().filter_map(|(id, slot)| {
            let (_, value) = self.get(*slot)?;
            Some((*id, *slot, value))
        })
    }

    /// The slots of the files whose ids are in `range`, by id.
    pub(crate) fn range(&self, range: std::ops::RangeInclusive<FileId>) -> Vec<Slot> {
        self.by_id.range(range).map(|(_, slot)| *slot).collect()
    }

    pub(crate) fn approximate_bytes(&self) -> usize {
        self.used.capacity() * size_of::<Option<(FileId, V)>>()
            + self.by_id.len() * (size_of::<(FileId, Slot)>() * 3 / 2)
            + self.free.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use tidemill_base::FileNumber;

    use super::*;

    fn file(number: u32) -> FileId {
        FileId { number: FileNumber(number), ..FileId::default() }
    }

    #[test]
    fn the_smallest_free_slot_is_used_first() {
        let mut slots = Slots::default();
        for number in 1..=4 {
            assert_eq!(slots.intern(file(number), || number), number - 1);
        }
        assert_eq!(slots.intern(file(2), || 9), 1);
        slots.remove(2);
        slots.remove(0);
        assert_eq!(slots.intern(file(5), || 5), 0);
        assert_eq!(slots.intern(file(6), || 6), 2);
        assert_eq!(slots.intern(file(7), || 7), 4);
    }

    #[test]
    fn a_restored_table_gives_out_the_same_slots() {
        let mut slots = Slots::default();
        for number in 1..=6 {
            slots.intern(file(number), || number);
        }
        for slot in [5, 1, 3] {
            slots.remove(slot);
        }
        let mut restored = Slots::default();
        for (id, slot, value) in slots.iter() {
            assert!(restored.restore(slot, id, *value, 100));
        }
        assert!(!restored.restore(0, file(99), 99, 100), "the slot is taken");
        assert!(!restored.restore(200, file(99), 99, 100), "the slot is too far");
        for number in 10..15 {
            assert_eq!(restored.intern(file(number), || 0), slots.intern(file(number), || 0));
        }
    }
}
