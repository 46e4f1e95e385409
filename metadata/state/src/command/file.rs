//! Commands about lanes and files: floors, sealing, garbage.

use tidemill_base::{FileId, LaneKey, LaneSequence};

use crate::codec::encoded;

/// Sequences of floors and of objects in object lanes stay below this, so that there is always a
/// next one.
pub const SEQUENCE_END: u64 = 1 << 63;

encoded! {
    /// Refuses for ever every reference of a lane at or below a floor, so that the objects below
    /// it that are not committed may be deleted.
    pub struct Condemn {
        /// The lane; [`LaneId::OBJECTS`](tidemill_base::LaneId::OBJECTS) for a writer's object lane.
        pub lane: LaneKey,
        /// The floor, below [`SEQUENCE_END`]. A lower one than the present changes nothing.
        pub floor: LaneSequence,
    }

    /// Closes an append file: no object of it will be committed any more.
    pub struct SealFile {
        /// The file.
        pub file: FileId,
        /// Its length in bytes when it was closed.
        pub length: u64,
    }

    /// Forgets garbage that has been deleted.
    pub struct ForgetFiles {
        /// The files. Those that are not garbage are left alone.
        pub files: Vec<FileId>,
    }
}
