//! An index object: the extents of one file, folded.
//!
//! ```text
//! header (72 bytes) | directory entry (48 bytes) per run | a block per run
//! ```
//!
//! - A *run* is a stretch of extents of one partition that follow one another in offsets without a
//!   hole. A partition whose offsets went to other files in between has several.
//! - Runs are sorted by partition, then by first offset; they never overlap.
//! - The header's checksum covers header and directory; each block ends with its own.
//! - The blocks lie in the directory's order, without gaps, and end where the object ends.
//! - A run's digest is that of [`tidemill_base::ExtentDigest`] over its extents in order.
//!
//! Reading one partition takes the header with the directory (which can be kept) and one block.

pub mod block;
pub mod builder;
pub mod directory;
pub mod run;

/// How an index object begins.
pub const INDEX_OBJECT_MAGIC: [u8; 4] = *b"TMIX";
/// The version that is written, and the only one that is read.
pub const INDEX_OBJECT_VERSION: u16 = 1;
/// The bytes before the directory.
pub const FIXED_HEADER_BYTES: usize = 72;
/// The bytes of a directory entry.
pub const DIRECTORY_ENTRY_BYTES: usize = 48;
/// The bytes of an extent in a block.
pub const EXTENT_BYTES: usize = 36;
/// The bytes of a block's checksum, at its end.
pub const BLOCK_CRC_BYTES: usize = 4;

const NAME: &str = "an index object";
/// Where the header's checksum is; it covers what is before it, and the directory after it.
const CRC_AT: usize = 68;
