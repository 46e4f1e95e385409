//! Record batch v2 (magic 2) as a view over bytes: parse, validate, iterate, search, build.
//!
//! Bytes come in as they were sent and leave as they came: the broker never re-encodes a batch.
//! Everything here is a function of its arguments, walks hostile bytes without panicking, and is
//! bounded: decompression stops at a named limit and works in chunks, so that a bomb costs neither
//! memory nor much time.
//!
//! Read in this order: [`header`], [`batch`], [`split`], [`validate`], [`facts`], [`records`],
//! [`search`], [`stamp`], [`builder`], [`decompressor`].

pub mod attributes;
pub mod batch;
pub mod builder;
pub mod codec;
pub mod compressor;
pub mod decompressor;
pub mod error;
pub mod facts;
pub mod fuzz;
pub mod header;
pub mod record;
pub mod records;
pub mod search;
pub mod split;
pub mod stamp;
pub mod validate;

mod inflate;
mod source;
mod varint;
mod walk;

pub use attributes::{Attributes, TimestampType};
pub use batch::{Batch, BatchView};
pub use builder::{BatchBuilder, NewRecord};
pub use codec::Codec;
pub use compressor::Compressor;
pub use decompressor::{DecompressLimits, Decompressor};
pub use error::{RecordFault, RecordsError};
pub use facts::{RecordFacts, validate_records};
pub use header::{BATCH_HEAD_BYTES, BATCH_HEADER_BYTES, BatchHeader, MAGIC_V2, head16};
pub use record::{HeaderView, RecordHeaders, RecordView};
pub use records::{RecordIter, Records};
pub use search::{FoundRecord, find_max_timestamp, find_timestamp};
pub use split::{Batches, batches, single_batch};
pub use stamp::stamp_log_append_time;
pub use validate::{AdmissionLimits, validate_header};
