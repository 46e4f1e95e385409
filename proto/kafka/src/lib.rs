//! The Kafka wire codec: messages as tables, decoded from bytes, written as parts.
//!
//! Every message is declared once, in `messages/<api>.rs`, as a table of fields with their version
//! ranges; one macro (`table.rs`) makes the structs and both directions of the codec from it, so
//! the broker, the client, the load driver and the simulation share every line.
//!
//! - **Decoding trusts nothing.** Each length and count is compared with the bytes that remain
//!   before anything is allocated, what is allocated is counted against a budget per frame, there is
//!   no recursion on input, and a wrong frame is a [`DecodeError`] that names the field.
//! - **Record bytes are never copied.** A decoded produce request holds slices of its frame; a
//!   fetch response is written as [`Parts`] that share the stored batches.
//! - **What is served is one list**: [`API_TABLE`], made in `api.rs`.
//!
//! Not here: sockets, the meaning of a request, record batches (see `tidemill-records`).
//!
//! Read in this order: [`messages`], [`api`], [`header`], [`frame`], [`reader`], [`writer`],
//! [`error_code`].

#[macro_use]
mod table;

pub mod api;
pub mod consumer_protocol;
pub mod decode_error;
pub mod encode_error;
pub mod error_code;
pub mod frame;
pub mod fuzz;
pub mod header;
pub mod kstring;
pub mod message;
pub mod messages;
pub mod parts;
pub mod reader;
pub mod record_parts;
mod wire;
pub mod writer;

#[cfg(test)]
mod tests;

pub use api::{API_TABLE, ApiKey, ApiRange};
pub use decode_error::{DecodeError, DecodeReason};
pub use encode_error::EncodeError;
pub use error_code::ErrorCode;
pub use frame::{
    decode_request, decode_response, encode_request, encode_response, peek_correlation_id,
};
pub use header::RequestHeader;
pub use kstring::KString;
pub use message::{Message, Request, Response};
pub use parts::{Part, Parts};
pub use reader::{DECODED_BYTES_MAX, Reader};
pub use record_parts::{Kept, RecordPart, RecordParts};
pub use uuid::Uuid;
pub use writer::Writer;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
