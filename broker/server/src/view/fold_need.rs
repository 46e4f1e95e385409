//! How many extents may wait to be folded: what keeps the metadata small under many tiny batches.
//!
//! Each extent takes about 40 bytes in the state and as much again in the projection. Folding makes
//! one entry of many; past a first mark it is asked for at once, past a second one nothing more is
//! committed until it has caught up.

use tidemill_metadata_state::fold::FoldPolicy;

/// The marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoldLimits {
    /// Beyond this many extents waiting, folding begins at once. Default 262,144.
    pub fold_above: u64,
    /// Beyond this many, those of objects under way included, no object is committed. Default
    /// 524,288, which take 40 MiB, and up to twice that where each partition has few.
    pub hold_above: u64,
}

impl Default for FoldLimits {
    fn default() -> Self {
        let fold_above = FoldPolicy::default().extents_waiting_max;
        Self { fold_above, hold_above: 2 * fold_above }
    }
}

/// How much folding is needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum FoldNeed {
    /// It can wait for its round.
    #[default]
    None,
    /// It should begin now.
    Now,
    /// What would add extents waits for it.
    Overdue,
}

impl FoldLimits {
    /// What `extents_waiting` ask for.
    pub(super) fn need(&self, extents_waiting: u64) -> FoldNeed {
        match extents_waiting {
            waiting if waiting > self.hold_above => FoldNeed::Overdue,
            waiting if waiting > self.fold_above => FoldNeed::Now,
            _ => FoldNeed::None,
        }
    }
}
