//! Which stored files are orphans (pure).

use tidemill_base::{FileId, LaneSequence};

use crate::log_store::StoredFile;

/// What of a lane can no longer be committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Floor {
    /// Every sequence up to this one.
    UpTo(LaneSequence),
    /// Everything: the lane's registration is over.
    All,
}

/// The files that no commit reached and none can reach any more, sorted as given.
///
/// An append file holds many objects, and which of them only its commits would tell; so one that is
/// not known is an orphan only when its whole lane is over.
#[must_use]
pub fn find_orphans(
    stored: &[StoredFile],
    is_known: impl Fn(&FileId) -> bool,
    floor_of: impl Fn(&FileId) -> Floor,
) -> Vec<StoredFile> {
    let is_condemned = |file: &FileId| match floor_of(file) {
        Floor::All => true,
        Floor::UpTo(floor) => !file.is_append_file() && file.sequence <= floor.0,
    };
    stored
        .iter()
        .filter(|stored| !is_known(&stored.file) && is_condemned(&stored.file))
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use tidemill_base::FileNumber;

    use super::*;

    fn stored(number: u32, sequence: u64) -> StoredFile {
        let file = FileId { number: FileNumber(number), sequence, ..FileId::default() };
        StoredFile { file, length: 1 }
    }

    #[test]
    fn only_what_is_condemned_and_unknown_is_an_orphan() {
        let all = [stored(0, 1), stored(0, 2), stored(0, 3), stored(1, 0), stored(2, 0)];
        let known = |file: &FileId| file.sequence == 1 || file.number.0 == 1;
        let find = |floor| find_orphans(&all, known, |_| floor);
        assert_eq!(find(Floor::UpTo(LaneSequence(0))), []);
        assert_eq!(find(Floor::UpTo(LaneSequence(2))), [all[1]]);
        assert_eq!(find(Floor::All), [all[1], all[2], all[4]]);
    }
}
