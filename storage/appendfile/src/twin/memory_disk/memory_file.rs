//! One file of the disk in memory: its bytes, and which of them are durable.

use std::ops::Range;

use bytes::{BufMut, BytesMut};

use crate::twin::dice::Dice;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// A file's bytes as the page cache has them, and what of them a crash keeps.
#[derive(Debug, Default)]
pub(super) struct MemoryFile {
    /// The bytes written so far; the rest up to `length` is zeros.
    bytes: Vec<u8>,
    /// The length, reserved space included.
    length: u64,
    /// The length that a crash keeps.
    synced_length: u64,
    /// Up to here bytes are durable, except `lost`.
    synced_up_to: usize,
    /// Bytes that a failed sync dropped.
    lost: Vec<Range<usize>>,
}

impl MemoryFile {
    pub(super) fn allocated(length: u64) -> Self {
        Self { length, synced_length: length, ..Self::default() }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn append(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
        self.length = self.length.max(self.bytes.len() as u64);
    }

    pub(super) fn reserve(&mut self, length: u64) {
        self.length = self.length.max(length);
    }

    pub(super) fn read(&self, position: u64, length: usize, buffer: &mut BytesMut) {
        let end = self.length.min(position.saturating_add(length as u64));
        let start = position.min(end);
        let written = (self.bytes.len() as u64).min(end);
        if start < written {
            buffer.put_slice(&self.bytes[start as usize..written as usize]);
        }
        buffer.put_bytes(0, (end - written.clamp(start, end)) as usize);
    }

    pub(super) fn sync(&mut self) {
        self.synced_up_to = self.bytes.len();
        self.synced_length = self.length;
    }

    pub(super) fn drop_dirty(&mut self) {
        if self.synced_up_to < self.bytes.len() {
            self.lost.push(self.synced_up_to..self.bytes.len());
            self.synced_up_to = self.bytes.len();
        }
    }

    pub(super) fn truncate(&mut self, length: u64) {
        self.length = length;
        self.bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        let end = self.bytes.len();
        self.lost.retain_mut(|range| {
            range.end = range.end.min(end);
            range.start < range.end
        });
        self.sync();
    }

    pub(super) fn damage(&mut self, position: u64, mask: u8) {
        let byte = usize::try_from(position).ok().and_then(|at| self.bytes.get_mut(at));
        if let Some(byte) = byte {
            *byte ^= mask;
        }
    }

    /// The file as the next life finds it.
    pub(super) fn after_crash(&self, dice: &mut Dice) -> Self {
        let grown = self.length - self.synced_length.min(self.length);
        let length = self.synced_length + dice.below(grown + 1);
        let mut bytes = self.bytes.clone();
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        for range in
            self.lost.iter().cloned().chain(std::iter::once(self.synced_up_to..self.bytes.len()))
        {
            lose_some(&mut bytes, range, dice);
        }
        let synced_up_to = bytes.len();
        Self { bytes, length, synced_length: length, synced_up_to, lost: Vec::new() }
    }
}

/// Turns sectors of `range` that did not reach the disk into zeros. A sector that also holds durable
/// bytes keeps those.
fn lose_some(bytes: &mut [u8], range: Range<usize>, dice: &mut Dice) {
    // All, none, a prefix, or any subset: a plain coin per sector would hardly ever keep or lose all.
    let fate = dice.below(4);
    let sectors = (range.len() / SECTOR_BYTES + 2) as u64;
    let mut prefix = dice.below(sectors);
    let mut start = range.start;
    while start < range.end {
        let end = ((start / SECTOR_BYTES + 1) * SECTOR_BYTES).min(range.end);
        let kept = match fate {
            0 => false,
            1 => true,
            2 => prefix > 0,
            _ => dice.below(2) == 0,
        };
        prefix = prefix.saturating_sub(1);
        if let (false, Some(lost)) = (kept, bytes.get_mut(start..end.min(bytes.len()))) {
            lost.fill(0);
        }
        start = end;
    }
}
