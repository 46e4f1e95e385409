//! Deciding what to read: just what was asked for, or the whole block around it (pure).
//!
//! A partition's batches are strewn over a file, and a consumer may want one partition or, with its
//! group, all. Density decides: once an eighth of a block was asked for, by whomever, the block is
//! read whole; and so is the block after one that was. A lone consumer of a small partition
//! therefore reads what it needs and no more, and a group that reads everything reads large.

use std::collections::{BTreeMap, VecDeque};

use tidemill_base::FileId;

use super::{BlockKey, ReadRequest};

/// The size of a block, aligned in its file.
pub const BLOCK_BYTES: u64 = 1024 * 1024;

/// A block is read whole once this much of it was asked for.
const DENSE_BYTES: u64 = BLOCK_BYTES / 8;

/// Blocks whose reads are remembered; the oldest are forgotten.
const BLOCKS_MAX: usize = 4096;

/// A part of a request that lies in one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// The block's number in its file.
    pub(crate) block: u64,
    /// The piece's first byte in the file.
    pub(crate) position: u64,
    /// The piece's length.
    pub(crate) length: usize,
    /// Start and length of what should be read and kept, if it is more than the piece.
    pub(crate) whole_block: Option<(u64, usize)>,
}

/// How much of which blocks was asked for lately.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    asked_bytes: BTreeMap<BlockKey, u64>,
    order: VecDeque<BlockKey>,
}

impl ReadAhead {
    /// The pieces to read for a request, in order. One alone, without reading ahead, if it is
    /// so long that blocks would only add a copy.
    pub(crate) fn plan(&mut self, request: ReadRequest) -> Vec<Piece> {
        let end = request.position + request.length as u64;
        if request.length as u64 >= BLOCK_BYTES || request.length == 0 {
            let block = request.position / BLOCK_BYTES;
            self.touch((request.file, block), BLOCK_BYTES);
            self.touch((request.file, end.saturating_sub(1) / BLOCK_BYTES), BLOCK_BYTES);
            let (position, length) = (request.position, request.length);
            return vec![Piece { block, position, length, whole_block: None }];
        }
        let mut pieces = Vec::with_capacity(2);
        let mut position = request.position;
        while position < end {
            let block = position / BLOCK_BYTES;
            let piece_end = end.min((block + 1) * BLOCK_BYTES);
            let length = (piece_end - position) as usize;
            let whole_block = self.whole_block(request, block, position, piece_end);
            pieces.push(Piece { block, position, length, whole_block });
            position = piece_end;
        }
        pieces
    }

    pub(crate) fn forget_file(&mut self, file: FileId) {
        self.asked_bytes.retain(|(other, _), _| *other != file);
        self.order.retain(|(other, _)| *other != file);
    }

    fn whole_block(
        &mut self,
        request: ReadRequest,
        block: u64,
        position: u64,
        piece_end: u64,
    ) -> Option<(u64, usize)> {
        let after_dense = block.checked_sub(1).is_some_and(|before| {
            self.asked_bytes.get(&(request.file, before)).is_some_and(|asked| *asked >= DENSE_BYTES)
        });
        let asked = if after_dense { DENSE_BYTES } else { piece_end - position };
        let dense = self.touch((request.file, block), asked) >= DENSE_BYTES;
        let start = block * BLOCK_BYTES;
        let end = request.readable_up_to.min(start + BLOCK_BYTES);
        // What ends before the piece does holds too little; then the piece alone is read.
        (dense && end >= piece_end).then(|| (start, (end - start) as usize))
    }

    /// Adds to what was asked for of a block, and returns the sum.
    fn touch(&mut self, key: BlockKey, bytes: u64) -> u64 {
        if let Some(asked) = self.asked_bytes.get_mut(&key) {
            *asked += bytes;
            return *asked;
        }
        self.asked_bytes.insert(key, bytes);
        self.order.push_back(key);
        while self.order.len() > BLOCKS_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.asked_bytes.remove(&oldest);
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(ahead: &mut ReadAhead, position: u64, length: usize, up_to: u64) -> Vec<Piece> {
        let file = FileId::default();
        ahead.plan(ReadRequest { file, position, length, readable_up_to: up_to })
    }

    fn whole(pieces: &[Piece]) -> Vec<Option<(u64, usize)>> {
        pieces.iter().map(|piece| piece.whole_block).collect()
    }

    const MIB: u64 = BLOCK_BYTES;

    #[test]
    fn a_sparse_reader_reads_what_it_asks_for() {
        let mut ahead = ReadAhead::default();
        for block in 0..20 {
            let pieces = plan(&mut ahead, block * MIB + 5, 1000, 100 * MIB);
            let expected =
                Piece { block, position: block * MIB + 5, length: 1000, whole_block: None };
            assert_eq!(pieces, [expected]);
        }
    }

    #[test]
    fn a_block_read_densely_is_read_whole_and_so_is_the_next() {
        let mut ahead = ReadAhead::default();
        for number in 0..7 {
            assert_eq!(whole(&plan(&mut ahead, number * 20_000, 18_000, 9 * MIB)), [None]);
        }
        let read = whole(&plan(&mut ahead, 140_000, 18_000, 9 * MIB));
        assert_eq!(read, [Some((0, MIB as usize))]);
        let read = whole(&plan(&mut ahead, MIB + 5, 10, 9 * MIB));
        assert_eq!(read, [Some((MIB, MIB as usize))]);
        assert_eq!(whole(&plan(&mut ahead, 4 * MIB, 10, 9 * MIB)), [None]);
    }

    #[test]
    fn a_request_over_two_blocks_has_two_pieces() {
        let mut ahead = ReadAhead::default();
        let pieces = plan(&mut ahead, MIB - 100, 300, 9 * MIB);
        let lengths: Vec<_> = pieces.iter().map(|piece| (piece.position, piece.length)).collect();
        assert_eq!(lengths, [(MIB - 100, 100), (MIB, 200)]);
    }

    #[test]
    fn nothing_is_read_ahead_beyond_what_is_committed() {
        let mut ahead = ReadAhead::default();
        let read = whole(&plan(&mut ahead, 0, 200_000, 300_000));
        assert_eq!(read, [Some((0, 300_000))]);
        // A caller that knows less than it asks for gets what it asks for.
        assert_eq!(whole(&plan(&mut ahead, 0, 200_000, 100)), [None]);
    }

    #[test]
    fn a_long_request_is_read_as_it_is() {
        let mut ahead = ReadAhead::default();
        let pieces = plan(&mut ahead, 10, 3 << 20, 9 * MIB);
        assert_eq!(pieces, [Piece { block: 0, position: 10, length: 3 << 20, whole_block: None }]);
        let read = whole(&plan(&mut ahead, 3 * MIB + 20, 10, 9 * MIB));
        assert_eq!(read, [Some((3 * MIB, MIB as usize))]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut ahead = ReadAhead::default();
        for block in 0..3 * BLOCKS_MAX as u64 {
            plan(&mut ahead, block * MIB, 10, u64::MAX);
        }
        assert_eq!(ahead.asked_bytes.len(), BLOCKS_MAX);
        ahead.forget_file(FileId::default());
        assert!(ahead.asked_bytes.is_empty() && ahead.order.is_empty());
    }
}
