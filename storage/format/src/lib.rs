//! The formats of log objects and index objects.
//!
//! Both are self-contained: they begin with a header that names the object and its version, and
//! every position in them is counted from the object's own first byte, so that they mean the same
//! wherever they lie. Encoding copies no batch; decoding believes nothing that it has not checked
//! against the bytes that are there.
//!
//! The bytes are described in docs/formats/log-object.md and docs/formats/index-object.md, and held
//! fast by fixtures.
//!
//! Read in this order: [`log_object`], [`index_object`], [`error`].

pub mod error;
pub mod fuzz;
pub mod index_object;
pub mod log_object;

mod fields;

pub use error::FormatError;
pub use index_object::block::IndexBlock;
pub use index_object::builder::{EncodedIndex, IndexObjectBuilder};
pub use index_object::directory::IndexDirectory;
pub use index_object::run::IndexRun;
pub use log_object::builder::{BatchHead, EncodedObject, LogObjectBuilder};
pub use log_object::header::LogObjectHeader;
pub use log_object::whole::LogObject;
