//! The entries of one partition, in chunks.
//!
//! - Entries tile the offsets: each begins where the one before it ends.
//! - A chunk holds at most [`CHUNK_ENTRIES_MAX`] and is what is saved at once, so that saving a hot
//!   partition rewrites its last chunk and not its history. A chunk's key is the base offset of the
//!   first entry it ever held: keys rise, and are never used again.
//! - Methods that drop chunks return their keys, for whoever saves chunks.

use std::collections::VecDeque;

use crate::packed::Packed;

/// The most entries of a chunk.
pub(crate) const CHUNK_ENTRIES_MAX: usize = 128;

/// Entries that are saved together.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) key: i64,
    /// The largest timestamp of its entries: what makes looking up a timestamp cheap.
    max_timestamp: i64,
    /// How many of its entries are extents.
    extents: u32,
    /// Whether it has changed since it was saved.
    pub(crate) dirty: bool,
    pub(crate) items: Vec<Packed>,
}

impl Chunk {
    pub(crate) fn new(key: i64, items: Vec<Packed>, dirty: bool) -> Self {
        let mut chunk = Self { key, max_timestamp: i64::MIN, extents: 0, dirty, items };
        chunk.recount();
        chunk
    }

    fn recount(&mut self) {
        self.max_timestamp =
            self.items.iter().map(|item| item.max_timestamp).max().unwrap_or(i64::MIN);
        self.extents = self.items.iter().filter(|item| !item.is_folded()).count() as u32;
    }

    fn changed(&mut self) {
        self.recount();
        self.dirty = true;
    }

    fn end(&self) -> i64 {
        self.items.last().map_or(i64::MIN, Packed::end)
    }
}

/// The entries of one partition.
#[derive(Clone, Default, Debug)]
pub(crate) struct Entries {
    chunks: VecDeque<Chunk>,
}

impl Entries {
    pub(crate) fn push(&mut self, item: Packed) {
        if let Some(last) = self.chunks.back_mut()
            && last.items.len() < CHUNK_ENTRIES_MAX
        {
            last.max_timestamp = last.max_timestamp.max(item.max_timestamp);
            last.extents += u32::from(!item.is_folded());
            last.dirty = true;
            if last.items.len() == last.items.capacity() {
                // Doubling, but never beyond what a chunk may hold.
                let room = CHUNK_ENTRIES_MAX - last.items.len();
                last.items.reserve_exact(room.min(last.items.len().max(4)));
            }
            last.items.push(item);
        } else {
            self.chunks.push_back(Chunk::new(item.base_offset, vec![item], true));
        }
    }

    /// Puts a saved chunk behind the others. Refused if it is empty, too long or does not follow.
    pub(crate) fn restore(&mut self, key: i64, items: Vec<Packed>) -> bool {
        let follows = self.chunks.back().is_none_or(|last| {
            last.key < key && items.first().is_some_and(|item| item.base_offset == last.end())
        });
        let tiles = items.windows(2).all(|pair| pair[0].end() == pair[1].base_offset);
        let fits = (1..=CHUNK_ENTRIES_MAX).contains(&items.len());
        if fits && tiles && follows && items[0].base_offset >= key {
            self.chunks.push_back(Chunk::new(key, items, false));
            return true;
        }
        false
    }

    /// Removes the entries that end at or below `log_start`, giving each to `removed`.
    pub(crate) fn remove_below(
        &mut self,
        log_start: i64,
        mut removed: impl FnMut(&Packed),
    ) -> Vec<i64> {
        let mut dropped = Vec::new();
        while let Some(chunk) = self.chunks.front_mut() {
            let gone = chunk.items.partition_point(|item| item.end() <= log_start);
            chunk.items[..gone].iter().for_each(&mut removed);
            if gone == chunk.items.len() {
                dropped.push(chunk.key);
                self.chunks.pop_front();
                continue;
            }
            if gone > 0 {
                chunk.items.drain(..gone);
                chunk.changed();
            }
            break;
        }
        dropped
    }

    /// Replaces the entries that begin in `first..end` by one.
    pub(crate) fn replace(&mut self, first: i64, end: i64, with: Packed) -> Vec<i64> {
        let mut at = self.chunk_of(first);
        let mut with = Some(with);
        let mut dropped = Vec::new();
        while let Some(chunk) = self.chunks.get_mut(at) {
            let from = chunk.items.partition_point(|item| item.base_offset < first);
            let to = chunk.items.partition_point(|item| item.base_offset < end);
            let cut = to < chunk.items.len();
            if from < to || with.is_some() {
                chunk.items.splice(from..to, with.take());
                chunk.items.shrink_to_fit();
                chunk.changed();
            }
            if chunk.items.is_empty() {
                dropped.push(chunk.key);
                self.chunks.remove(at);
            } else {
                at += 1;
            }
            if cut {
                break;
            }
        }
        dropped.extend(self.join(at.saturating_sub(1)));
        dropped
    }

    /// Joins the chunk at `at` to its neighbours while they fit into one, so that folding does not
    /// leave a chunk for every entry.
    fn join(&mut self, at: usize) -> Vec<i64> {
        let mut dropped = Vec::new();
        for second in [at + 1, at] {
            let Some(first) = second.checked_sub(1) else { break };
            let (Some(a), Some(b)) = (self.chunks.get(first), self.chunks.get(second)) else {
                continue;
            };
            if a.items.len() + b.items.len() > CHUNK_ENTRIES_MAX / 2 {
                continue;
            }
            if let Some(gone) = self.chunks.remove(second) {
                let kept = &mut self.chunks[first];
                kept.items.extend(gone.items);
                kept.changed();
                dropped.push(gone.key);
            }
        }
        dropped
    }

    /// The entries from the one that holds `offset` on (or the first above it).
    pub(crate) fn iter_from(&self, offset: i64) -> impl Iterator<Item = &Packed> {
        let at = self.chunk_of(offset);
        let skip = self
            .chunks
            .get(at)
            .map_or(0, |chunk| chunk.items.partition_point(|item| item.end() <= offset));
        self.chunks.range(at.min(self.chunks.len())..).flat_map(|chunk| &chunk.items).skip(skip)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packed> {
        self.chunks.iter().flat_map(|chunk| &chunk.items)
    }

    /// The extents only, passing over chunks that are wholly folded.
    pub(crate) fn extents(&self) -> impl Iterator<Item = &Packed> {
        self.chunks
            .iter()
            .filter(|chunk| chunk.extents > 0)
            .flat_map(|chunk| &chunk.items)
            .filter(|item| !item.is_folded())
    }

    /// The first entry at or above `offset` whose largest timestamp reaches `timestamp`.
    pub(crate) fn reaching(&self, timestamp: i64, offset: i64) -> Option<&Packed> {
        let at = self.chunk_of(offset);
        self.chunks
            .range(at.min(self.chunks.len())..)
            .filter(|chunk| chunk.max_timestamp >= timestamp)
            .flat_map(|chunk| &chunk.items)
            .find(|item| item.end() > offset && item.max_timestamp >= timestamp)
    }

    /// The largest timestamp of all.
    pub(crate) fn max_timestamp(&self) -> Option<i64> {
        self.chunks.iter().map(|chunk| chunk.max_timestamp).max()
    }

    /// The chunk that holds `offset`, or the first above it.
    fn chunk_of(&self, offset: i64) -> usize {
        self.chunks.partition_point(|chunk| chunk.end() <= offset)
    }

    pub(crate) fn first(&self) -> Option<&Packed> {
        self.chunks.front()?.items.first()
    }

    pub(crate) fn end(&self) -> Option<i64> {
        self.chunks.back().map(Chunk::end)
    }

    pub(crate) fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.chunks.iter()
    }

    pub(crate) fn chunks_mut(&mut self) -> impl Iterator<Item = &mut Chunk> {
        self.chunks.iter_mut()
    }

    /// Whether a chunk has that key.
    pub(crate) fn has_chunk(&self, key: i64) -> bool {
        self.chunks.binary_search_by_key(&key, |chunk| chunk.key).is_ok()
    }

    pub(crate) fn approximate_bytes(&self) -> usize {
        let items: usize = self.chunks.iter().map(|chunk| chunk.items.capacity()).sum();
        items * size_of::<Packed>() + self.chunks.capacity() * size_of::<Chunk>()
    }
}
