//! Whole frames: header and message together.
//!
//! A frame on the wire is its length (`i32`, the length itself not counted) and that many bytes.
//! What is read is given without the length, because the socket's reader has used it; what is
//! written carries it.

use bytes::Bytes;

use crate::api::ApiKey;
use crate::decode_error::DecodeError;
use crate::encode_error::EncodeError;
use crate::header::{RequestHeader, decode_response_header, encode_response_header};
use crate::kstring::KString;
use crate::message::{Request, Response};
use crate::parts::Parts;
use crate::reader::Reader;
use crate::writer::Writer;

/// The frame of a request, length in front.
///
/// # Errors
/// `Invalid` if the request has no form in this version.
pub fn encode_request<R: Request>(
    correlation_id: i32,
    client_id: Option<&KString>,
    request: &R,
    version: i16,
) -> Result<Parts, EncodeError> {
    let mut w = Writer::new();
    RequestHeader {
        api_key: R::API.number(),
        api_version: version,
        correlation_id,
        client_id: client_id.cloned(),
    }
    .encode(&mut w);
    request.encode(&mut w, version);
    w.finish()
}

/// The request that follows `header`, which the reader has just given.
///
/// # Errors
/// `Invalid` if the version is not one of this API, `Corrupt` if the bytes are not such a request.
pub fn decode_request<R: Request>(
    r: &mut Reader,
    header: &RequestHeader,
) -> Result<R, DecodeError> {
    R::decode(r, header.api_version)
}

/// The frame of a response to a request of this version, length in front.
///
/// # Errors
/// `Invalid` if the response has no form in this version.
pub fn encode_response<R: Response>(
    correlation_id: i32,
    response: &R,
    version: i16,
) -> Result<Parts, EncodeError> {
    let mut w = Writer::new();
    encode_response_header(&mut w, correlation_id, R::API, version);
    response.encode(&mut w, version);
    w.finish()
}

/// The correlation id and response in a frame (without its length) that answers a request of this
/// version.
///
/// ApiVersions in a version that the broker does not know is answered in the shape of version 0,
/// which this reads when the error code says so.
///
/// # Errors
/// `Invalid` if the version is not one of this API, `Corrupt` if the bytes are not such a response.
pub fn decode_response<R: Response>(frame: Bytes, version: i16) -> Result<(i32, R), DecodeError> {
    let mut r = Reader::new(frame);
    let correlation_id = decode_response_header(&mut r, R::API, version)
        .map_err(|e| e.in_field("ResponseHeader"))?;
    let version = if R::API == ApiKey::ApiVersions && starts_with_unsupported_version(&r) {
        0
    } else {
        version
    };
    let response = R::decode(&mut r, version)?;
    Ok((correlation_id, response))
}

fn starts_with_unsupported_version(r: &Reader) -> bool {
    r.clone().i16().is_ok_and(|code| code == crate::error_code::ErrorCode::UNSUPPORTED_VERSION.0)
}

/// The correlation id of a response's frame (without its length), by which a client finds the
/// request that it answers. `None` if the frame is too short.
#[must_use]
pub fn peek_correlation_id(frame: &[u8]) -> Option<i32> {
    frame.first_chunk().copied().map(i32::from_be_bytes)
}
