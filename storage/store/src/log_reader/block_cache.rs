//! Blocks read from the store, the least recently used dropped first.

use std::collections::BTreeMap;

use bytes::Bytes;
use tidemill_base::FileId;

use super::BlockKey;

/// Blocks in memory, within a budget.
#[derive(Debug)]
pub(crate) struct BlockCache {
    budget_bytes: u64,
    held_bytes: u64,
    blocks: BTreeMap<BlockKey, Block>,
    /// Blocks in the order of their last use.
    order: BTreeMap<u64, BlockKey>,
    uses_count: u64,
}

#[derive(Debug)]
struct Block {
    start: u64,
    bytes: Bytes,
    last_use: u64,
}

impl BlockCache {
    pub(crate) fn new(budget_bytes: u64) -> Self {
        let (blocks, order) = (BTreeMap::new(), BTreeMap::new());
        Self { budget_bytes, held_bytes: 0, blocks, order, uses_count: 0 }
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// The bytes at a position of the file, if the block holds all of them.
    pub(crate) fn slice(&mut self, key: BlockKey, position: u64, length: usize) -> Option<Bytes> {
        self.uses_count += 1;
        let block = self.blocks.get_mut(&key)?;
        let from = usize::try_from(position.checked_sub(block.start)?).ok()?;
        if from.checked_add(length)? > block.bytes.len() {
            return None;
        }
        self.order.remove(&block.last_use);
        block.last_use = self.uses_count;
        self.order.insert(block.last_use, key);
        Some(own_slice(&block.bytes, from, length))
    }

    /// Keeps a block that begins at `start`, in place of a shorter one.
    pub(crate) fn insert(&mut self, key: BlockKey, start: u64, bytes: Bytes) {
        self.remove(key);
        self.uses_count += 1;
        self.held_bytes += bytes.len() as u64;
        self.order.insert(self.uses_count, key);
        self.blocks.insert(key, Block { start, bytes, last_use: self.uses_count });
        while self.held_bytes > self.budget_bytes {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            self.remove(oldest);
        }
    }

    pub(crate) fn remove_file(&mut self, file: FileId) {
        let inside = (file, 0)..=(file, u64::MAX);
        let keys: Vec<BlockKey> = self.blocks.range(inside).map(|(key, _)| *key).collect();
        for key in keys {
            self.remove(key);
        }
    }

    fn remove(&mut self, key: BlockKey) {
        if let Some(block) = self.blocks.remove(&key) {
            self.order.remove(&block.last_use);
            self.held_bytes -= block.bytes.len() as u64;
        }
    }
}

/// A slice of a block that may outlive it. A small one is copied, so that a slow reader of a few
/// bytes does not keep the whole block in memory after it was dropped here.
pub(crate) fn own_slice(block: &Bytes, from: usize, length: usize) -> Bytes {
    let slice = block.slice(from..from + length);
    if length >= block.len() / 8 { slice } else { Bytes::copy_from_slice(&slice) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(block: u64) -> BlockKey {
        (FileId::default(), block)
    }

    #[test]
    fn slices_come_from_blocks_that_hold_them_whole() {
        let mut cache = BlockCache::new(1000);
        cache.insert(key(1), 100, Bytes::from_static(b"0123456789"));
        assert_eq!(cache.slice(key(1), 103, 4).as_deref(), Some(&b"3456"[..]));
        assert_eq!(cache.slice(key(1), 103, 8), None);
        assert_eq!(cache.slice(key(1), 99, 1), None);
        assert_eq!(cache.slice(key(2), 103, 4), None);
        cache.insert(key(1), 100, Bytes::from_static(b"0123456789ab"));
        assert_eq!(cache.slice(key(1), 103, 8).as_deref(), Some(&b"3456789a"[..]));
        assert_eq!(cache.held_bytes, 12);
    }

    #[test]
    fn the_least_recently_used_block_goes_first() {
        let mut cache = BlockCache::new(30);
        for block in 0..3 {
            cache.insert(key(block), block * 10, Bytes::from(vec![0; 10]));
        }
        assert!(cache.slice(key(0), 0, 1).is_some());
        cache.insert(key(3), 30, Bytes::from(vec![0; 10]));
        assert!(cache.slice(key(1), 10, 1).is_none());
        assert!(cache.slice(key(0), 0, 1).is_some());
        cache.insert(key(4), 40, Bytes::from(vec![0; 31]));
        assert_eq!((cache.held_bytes, cache.order.len(), cache.blocks.len()), (0, 0, 0));
    }

    #[test]
    fn a_small_slice_does_not_keep_its_block() {
        let block = Bytes::from(vec![7; 1000]);
        let inside = block.as_ptr_range();
        assert!(!inside.contains(&own_slice(&block, 10, 100).as_ptr()));
        assert!(inside.contains(&own_slice(&block, 10, 200).as_ptr()));
    }
}
