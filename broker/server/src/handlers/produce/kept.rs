//! What admitted batches keep alive: a slice of a frame keeps the whole frame, for as long as the hot
//! cache holds the slice, and the cache counts slices.
//!
//! So batches stay slices only of a frame that consists of them but for [`AROUND_EIGHTHS_MAX`] and what
//! the cache counts for each, and that goes with them: a large frame of several batches would stay
//! until the last of its log objects leaves. All others are copied.

use bytes::Bytes;
use tidemill_storage_store::hot_cache::PART_OVERHEAD_BYTES;

/// How much of a frame, in eighths of its batches' bytes, may lie around batches that stay slices.
const AROUND_EIGHTHS_MAX: usize = 1;
/// The largest frame of which several batches stay slices: what one log object holds.
const SHARED_FRAME_BYTES_MAX: usize = 4 << 20;

/// Slices of one frame.
#[derive(Clone, Copy, Default)]
pub(super) struct Slices {
    count: usize,
    bytes: usize,
}

impl Slices {
    pub(super) fn add(&mut self, batch: &Bytes) {
        self.count += 1;
        self.bytes += batch.len();
    }

    /// Whether they would keep much more alive than themselves, so that each must be copied.
    pub(super) fn keep_too_much(self, frame_bytes: usize) -> bool {
        let around = self.bytes / 8 * AROUND_EIGHTHS_MAX;
        let counted = self.count * PART_OVERHEAD_BYTES as usize;
        let goes_with_them = self.count <= 1 || frame_bytes <= SHARED_FRAME_BYTES_MAX;
        frame_bytes > self.bytes + around + counted || !goes_with_them
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stay(frame_bytes: usize, batches: &[usize]) -> bool {
        let mut slices = Slices::default();
        for length in batches {
            slices.add(&Bytes::from(vec![7; *length]));
        }
        !slices.keep_too_much(frame_bytes)
    }

    #[test]
    fn batches_that_are_most_of_their_frame_are_not_copied() {
        assert!(stay(16_500, &[16_400]));
        assert!(stay(200, &[90]));
        assert!(stay(1 << 20, &[500_000, 500_000]));
        assert!(stay(60 << 20, &[60 << 20]));
    }

    #[test]
    fn a_batch_does_not_keep_a_frame_of_other_things() {
        assert!(!stay(60 << 20, &[100]));
        assert!(!stay(30_000, &[16_400]));
        assert!(!stay(40_000, &[100, 100, 100]));
    }

    #[test]
    fn a_large_frame_does_not_stay_for_the_last_of_its_batches() {
        assert!(!stay(60 << 20, &[30 << 20, 30 << 20]));
    }
}
