//! Where a log object lies.

use std::fmt;

use crate::ids::{Incarnation, LaneKey, id};

id! {
    /// The number of an append file within its lane, from 1. A new file gets a new number.
    FileNumber(u32)
}

/// The unit that is deleted: one append file of one lane, or one immutable object.
///
/// For an immutable object, `number` is 0 and `sequence` names the object; for an append file,
/// `number` is from 1 and `sequence` is 0, since a file holds many objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FileId {
    /// The life of the cluster in which it was written.
    pub incarnation: Incarnation,
    /// The lane that wrote it.
    pub lane: LaneKey,
    /// The append file's number, or 0 for an immutable object.
    pub number: FileNumber,
    /// The immutable object's lane sequence, or 0 for an append file.
    pub sequence: u64,
}

/// Where one log object lies, as proposed to the metadata.
///
/// All positions of batches are counted from `position` on: the object's own first byte.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location {
    /// The file or object that holds it.
    pub file: FileId,
    /// The object's first byte within the file; 0 for an immutable object.
    pub position: u64,
    /// The object's length in bytes, its header included.
    pub length: u32,
}

impl FileId {
    /// Whether this is an append file (and not an immutable object).
    #[must_use]
    pub fn is_append_file(&self) -> bool {
        self.number.0 != 0
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_append_file() {
            write!(f, "{}-{}-f{}", self.incarnation, self.lane, self.number)
        } else {
            write!(f, "{}-{}-{}", self.incarnation, self.lane, self.sequence)
        }
    }
}
