//! A log object: what one flush of one lane makes durable.
//!
//! ```text
//! header (44 bytes) | index entry (44 bytes) per batch | the batches
//! ```
//!
//! - Batches of one partition lie next to each other, in the order in which they arrived.
//! - The batches lie in the index's order, without gaps, and end where the object ends.
//! - The header's checksum covers the header and the index; each batch has its own.
//! - The index holds all that a commit says of each batch, so that a scrub can rebuild the commit.

pub mod builder;
pub mod header;
pub mod whole;

mod entry;

/// How a log object begins.
pub const LOG_OBJECT_MAGIC: [u8; 4] = *b"TMLO";
/// The version that is written, and the only one that is read.
pub const LOG_OBJECT_VERSION: u16 = 1;
/// The bytes before the index.
pub const FIXED_HEADER_BYTES: usize = 44;
/// The bytes of an index entry.
pub const INDEX_ENTRY_BYTES: usize = 44;

const NAME: &str = "a log object";
/// Where the header's checksum is; it covers what is before it, and the index after it.
const CRC_AT: usize = 40;
