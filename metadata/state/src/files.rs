//! Files: what each holds that is alive, and when it became garbage.
//!
//! A file is unreachable when it is sealed and no entry refers to it. It stays in the table as
//! garbage, with the time and index of the command that freed it, until it has been deleted.
//! Counts are not saved: they follow from the entries.

use std::collections::BTreeSet;

use tidemill_base::{AppliedIndex, FileId, TimestampMs};

use crate::codec::encoded;
use crate::event::Event;
use crate::packed::Packed;
use crate::slots::{Slot, Slots};

encoded! {
    /// When a file became unreachable.
    #[derive(Copy)]
    pub struct Freed {
        /// The state time.
        pub at: TimestampMs,
        /// The command that freed it.
        pub by: AppliedIndex,
    }
}

/// What the state knows of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileState {
    /// Its length as far as the metadata knows: the end of the last object, or as sealed.
    pub(crate) length: u64,
    /// The bytes of it that entries cover (an index object: its length while it is in use).
    pub(crate) live_bytes: u64,
    /// How many entries refer to it.
    pub(crate) references: u32,
    /// How many of those are extents, not folded.
    pub(crate) extents: u32,
    pub(crate) sealed: bool,
    pub(crate) freed: Option<Freed>,
    /// Whether it has changed since it was saved.
    pub(crate) dirty: bool,
}

impl FileState {
    pub(crate) fn new(length: u64, sealed: bool) -> Self {
        Self { length, live_bytes: 0, references: 0, extents: 0, sealed, freed: None, dirty: false }
    }
}

/// The table of files.
#[derive(Clone, Default, Debug)]
pub(crate) struct Files {
    pub(crate) slots: Slots<FileState>,
    pub(crate) garbage: BTreeSet<Slot>,
    /// Extents of append files that are not folded; those of other files never are.
    pub(crate) extents_waiting: u64,
    /// Entries of all partitions.
    pub(crate) entries: u64,
    /// Slots that changed since they were saved, marked in their entries or no longer in use.
    pub(crate) changed: Vec<Slot>,
}

impl Files {
    pub(crate) fn intern(&mut self, id: FileId, length: u64, sealed: bool) -> Slot {
        let slot = self.slots.intern(id, || FileState::new(length, sealed));
        self.touch(slot);
        slot
    }

    /// Marks a slot as changed.
    pub(crate) fn touch(&mut self, slot: Slot) {
        if let Some(file) = self.slots.get_mut(slot)
            && !file.dirty
        {
            file.dirty = true;
            self.changed.push(slot);
        }
    }

    /// Whether an entry is one that folding would take the place of.
    fn waits(&self, item: &Packed) -> bool {
        let file = self.slots.get(item.file);
        !item.is_folded() && file.is_some_and(|(id, _)| id.is_append_file())
    }

    /// Counts an entry in.
    pub(crate) fn refer(&mut self, item: &Packed) {
        self.entries += 1;
        self.extents_waiting += u64::from(self.waits(item));
        if let Some(file) = self.slots.get_mut(item.file) {
            file.references += 1;
            file.extents += u32::from(!item.is_folded());
            file.live_bytes += u64::from(item.length);
        }
        if let Some(index) = item.index().and_then(|index| self.slots.get_mut(index)) {
            index.references += 1;
            index.live_bytes = index.length;
        }
    }

    /// Counts an entry out, and frees what nothing refers to any more.
    pub(crate) fn release(&mut self, item: &Packed, freed: Freed, events: &mut Vec<Event>) {
        self.entries -= 1;
        self.extents_waiting -= u64::from(self.waits(item));
        if let Some(file) = self.slots.get_mut(item.file) {
            file.references -= 1;
            file.extents -= u32::from(!item.is_folded());
            file.live_bytes -= u64::from(item.length);
        }
        self.free_if_unreachable(item.file, freed, events);
        if let Some(index) = item.index() {
            if let Some(file) = self.slots.get_mut(index) {
                file.references -= 1;
                file.live_bytes = if file.references == 0 { 0 } else { file.length };
            }
            self.free_if_unreachable(index, freed, events);
        }
    }

    /// Closes a file to further objects.
    pub(crate) fn seal(&mut self, slot: Slot, length: u64, freed: Freed, events: &mut Vec<Event>) {
        if let Some(file) = self.slots.get_mut(slot) {
            file.sealed = true;
            file.length = file.length.max(length);
        }
        self.touch(slot);
        self.free_if_unreachable(slot, freed, events);
    }

    /// Makes a file garbage if it is sealed and nothing refers to it.
    pub(crate) fn free_if_unreachable(
        &mut self,
        slot: Slot,
        freed: Freed,
        events: &mut Vec<Event>,
    ) {
        let Some((id, file)) = self.slots.get(slot) else { return };
        if !file.sealed || file.references > 0 || file.freed.is_some() {
            return;
        }
        if let Some(file) = self.slots.get_mut(slot) {
            file.freed = Some(freed);
        }
        self.garbage.insert(slot);
        self.touch(slot);
        events.push(Event::FileUnreachable { file: id, at: freed.at });
    }

    /// Forgets a file that is garbage; `false` if it is not.
    pub(crate) fn forget(&mut self, id: &FileId) -> bool {
        let Some(slot) = self.slots.find(id).filter(|slot| self.garbage.contains(slot)) else {
            return false;
        };
        self.garbage.remove(&slot);
        self.slots.remove(slot);
        self.changed.push(slot);
        true
    }
}
