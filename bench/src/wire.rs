//! The hot path's own wire code: requests laid out once and patched, answers walked in place.
//!
//! The driver shares two cores with the broker it measures, so what it does per request is a few
//! stores and a walk over fixed fields; the crate's codec, which the tests compare this with, is used
//! for everything that happens once. Only the shapes that the driver itself asks for are understood.

pub mod admin;
pub mod answer;
pub mod cursor;
pub mod fetch;
pub mod produce;

/// How the driver names itself to brokers.
pub const CLIENT_ID: &str = "tidemill-bench";

/// Bytes of the length field before every frame.
pub const FRAME_LENGTH_BYTES: usize = 4;

/// Where the correlation id lies in a request frame, its length field included.
pub const CORRELATION_ID_AT: usize = 8;

/// An answer that is not what was asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum WireError {
    /// The frame ends before its last field.
    Short,
    /// A field holds what the driver cannot have asked for; the text names it.
    Unexpected(&'static str),
}

impl std::fmt::Display for WireError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("the answer ends before its last field"),
            Self::Unexpected(field) => write!(f, "unexpected {field} in the answer"),
        }
    }
}

impl std::error::Error for WireError {}

/// Appends the length field (0 for now) and a flexible request header.
pub fn put_request_head(out: &mut Vec<u8>, api_key: i16, api_version: i16) {
    out.extend_from_slice(&0u32.to_be_bytes());
    out.extend_from_slice(&api_key.to_be_bytes());
    out.extend_from_slice(&api_version.to_be_bytes());
    out.extend_from_slice(&0i32.to_be_bytes()); // correlation id
    out.extend_from_slice(&(CLIENT_ID.len() as i16).to_be_bytes());
    out.extend_from_slice(CLIENT_ID.as_bytes());
    out.push(0); // no tagged fields
}

/// Writes the length of a frame of `frame_bytes`, length field included, at its start.
pub fn set_frame_length(frame: &mut [u8], frame_bytes: usize) {
    let length = u32::try_from(frame_bytes - FRAME_LENGTH_BYTES).unwrap_or(u32::MAX);
    frame[..FRAME_LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// Appends an unsigned varint.
pub fn put_uvarint(out: &mut Vec<u8>, value: usize) {
    let mut rest = value;
    while rest >= 0x80 {
        out.push((rest & 0x7F) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a compact string.
pub fn put_compact_string(out: &mut Vec<u8>, text: &str) {
    put_uvarint(out, text.len() + 1);
    out.extend_from_slice(text.as_bytes());
}
