//! When an append file will get no further object.
//!
//! Files of a lane are used one after another, but a put that was raced may still end in the older
//! file. So a file counts as sealed only when a newer one is in use *and* every object that was
//! sealed before the newer one appeared has been decided.

use std::collections::VecDeque;

use tidemill_base::{FileId, LaneSequence, Location};

/// Tracks which file of a lane is in use.
#[derive(Debug, Default)]
pub(crate) struct SealedFiles {
    current: Option<Extent>,
    /// Files left behind, each with the last sequence that may still lie in it.
    left: VecDeque<(Extent, LaneSequence)>,
}

/// A file and where its last known object ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub(crate) file: FileId,
    pub(crate) length: u64,
}

impl SealedFiles {
    /// An object lies at `location`; `sealed_up_to` is the last sequence given out so far.
    pub(crate) fn object_at(&mut self, location: Location, sealed_up_to: LaneSequence) {
        let file = location.file;
        if !file.is_append_file() {
            return;
        }
        let end = location.position + u64::from(location.length);
        let current = self.current.get_or_insert(Extent { file, length: 0 });
        if file.number > current.file.number {
            self.left.push_back((*current, sealed_up_to));
            *current = Extent { file, length: 0 };
        }
        let left = self.left.iter_mut().map(|(extent, _)| extent);
        if let Some(extent) = left.chain([current]).find(|extent| extent.file == file) {
            extent.length = extent.length.max(end);
        }
    }

    /// The files that are sealed now that everything below `first_open` is decided.
    pub(crate) fn take_sealed(&mut self, first_open: LaneSequence) -> Vec<Extent> {
        let sealed = self.left.iter().take_while(|(_, last)| *last < first_open).count();
        self.left.drain(..sealed).map(|(extent, _)| extent).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_base::FileNumber;

    fn at(number: u32, position: u64) -> Location {
        let file = FileId { number: FileNumber(number), ..FileId::default() };
        Location { file, position, length: 10 }
    }

    #[test]
    fn a_file_is_sealed_only_when_what_may_lie_in_it_is_decided() {
        let mut files = SealedFiles::default();
        files.object_at(at(1, 0), LaneSequence(1));
        files.object_at(at(2, 0), LaneSequence(3));
        files.object_at(at(1, 90), LaneSequence(4));
        assert_eq!(files.take_sealed(LaneSequence(3)), []);
        let sealed = Extent { file: at(1, 0).file, length: 100 };
        assert_eq!(files.take_sealed(LaneSequence(4)), [sealed]);
        assert_eq!(files.take_sealed(LaneSequence(9)), []);
    }
}
