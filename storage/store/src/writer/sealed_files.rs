//! When an append file will get no further object.
//!
//! Files of a lane are used one after another, but a put that was raced may still end in the older
//! file. So a file counts as sealed only when a newer one is in use *and* every object that was
//! sealed before the newer one appeared has been decided.

use std::collections::VecDeque;

use tidemill_base::{FileId, LaneSequence};

/// Tracks which file of a lane is in use.
#[derive(Debug, Default)]
pub(crate) struct SealedFiles {
    current: Option<FileId>,
    /// Files left behind, each with the last sequence that may still lie in it.
    left: VecDeque<(FileId, LaneSequence)>,
}

impl SealedFiles {
    /// An object lies in `file`; `sealed_up_to` is the last sequence given out so far.
    pub(crate) fn object_in(&mut self, file: FileId, sealed_up_to: LaneSequence) {
        match self.current {
            _ if !file.is_append_file() => {}
            Some(current) if file.number <= current.number => {}
            Some(current) => {
                self.left.push_back((current, sealed_up_to));
                self.current = Some(file);
            }
            None => self.current = Some(file),
        }
    }

    /// The files that are sealed now that everything below `first_open` is decided.
    pub(crate) fn take_sealed(&mut self, first_open: LaneSequence) -> Vec<FileId> {
        let sealed = self.left.iter().take_while(|(_, last)| *last < first_open).count();
        self.left.drain(..sealed).map(|(file, _)| file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_base::FileNumber;

    fn file(number: u32) -> FileId {
        FileId { number: FileNumber(number), ..FileId::default() }
    }

    #[test]
    fn a_file_is_sealed_only_when_what_may_lie_in_it_is_decided() {
        let mut files = SealedFiles::default();
        files.object_in(file(1), LaneSequence(1));
        files.object_in(file(2), LaneSequence(3));
        files.object_in(file(1), LaneSequence(4));
        assert_eq!(files.take_sealed(LaneSequence(3)), []);
        assert_eq!(files.take_sealed(LaneSequence(4)), [file(1)]);
        assert_eq!(files.take_sealed(LaneSequence(9)), []);
    }
}
