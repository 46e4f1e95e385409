//! Headers: what stands in front of a request or response in its frame.
//!
//! - Request header 1 is key, version, correlation id and client id; header 2 adds tagged fields.
//!   (Header 0 lacks the client id; only ControlledShutdown 0 had it, which no broker serves.)
//! - The client id keeps its old form, an `i16` length, in both.
//! - Response header 0 is the correlation id; header 1 adds tagged fields.
//! - ApiVersions is answered with header 0 in every version, because a client asks before it knows
//!   what the broker speaks (KIP-511).

use crate::api::ApiKey;
use crate::decode_error::DecodeError;
use crate::kstring::KString;
use crate::reader::Reader;
use crate::wire::{Format, Nullable, Wire};
use crate::writer::Writer;

/// The header of a request. The key and version may be ones that are not served.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RequestHeader {
    /// The number of the API asked; see [`RequestHeader::api`].
    pub api_key: i16,
    /// The version of the request and of its answer.
    pub api_version: i16,
    /// What the answer carries so that the client finds its request.
    pub correlation_id: i32,
    /// What the client calls itself.
    pub client_id: Option<KString>,
}

/// Fields of a header before its tagged fields: never compact.
const HEADER_FORMAT: Format = Format { version: 1, flexible: false, nullable: true };

impl RequestHeader {
    /// Takes a header from the reader, which is then at the request's first byte.
    ///
    /// A key or version that is not served has a header of unknown shape: what all shapes share is
    /// read, so that the answer can name the correlation id, and the rest should not be looked at.
    ///
    /// # Errors
    /// `Corrupt` if the bytes are not a header; there is nothing to answer then.
    pub fn decode(r: &mut Reader) -> Result<Self, DecodeError> {
        let read = |r: &mut Reader| {
            let (api_key, api_version, correlation_id) = (r.i16()?, r.i16()?, r.i32()?);
            let mut header = Self { api_key, api_version, correlation_id, client_id: None };
            let Some(api) = header.api() else {
                header.client_id = KString::read_nullable(r, HEADER_FORMAT).unwrap_or_default();
                return Ok(header);
            };
            header.client_id = KString::read_nullable(r, HEADER_FORMAT)?;
            if api.range().is_flexible(api_version) {
                r.tagged_fields(|_, _| Ok(false))?;
            }
            Ok(header)
        };
        read(r).map_err(|e: DecodeError| e.in_field("RequestHeader"))
    }

    /// Adds the header to the frame, in the shape that its key and version ask for.
    pub fn encode(&self, w: &mut Writer) {
        w.i16(self.api_key);
        w.i16(self.api_version);
        w.i32(self.correlation_id);
        self.client_id.write(w, HEADER_FORMAT);
        let flexible = self.api().is_some_and(|api| api.range().is_flexible(self.api_version));
        if flexible {
            w.uvarint(0);
        }
    }

    /// The API asked, if it is served in the version asked.
    ///
    /// For ApiVersions in an unknown version this is `None` as for any other; the answer is then
    /// error 35 in the shape of version 0, so that the client can ask again.
    #[must_use]
    pub fn api(&self) -> Option<ApiKey> {
        ApiKey::from_number(self.api_key)
            .filter(|api| api.range().versions().contains(&self.api_version))
    }
}

/// Adds a response header to the frame.
pub(crate) fn encode_response_header(
    w: &mut Writer,
    correlation_id: i32,
    api: ApiKey,
    version: i16,
) {
    w.i32(correlation_id);
    if has_tagged_response_header(api, version) {
        w.uvarint(0);
    }
}

/// Takes a response header from the reader and answers its correlation id.
pub(crate) fn decode_response_header(
    r: &mut Reader,
    api: ApiKey,
    version: i16,
) -> Result<i32, DecodeError> {
    let correlation_id = r.i32()?;
    if has_tagged_response_header(api, version) {
        r.tagged_fields(|_, _| Ok(false))?;
    }
    Ok(correlation_id)
}

fn has_tagged_response_header(api: ApiKey, version: i16) -> bool {
    api != ApiKey::ApiVersions && api.range().is_flexible(version)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::decode_error::DecodeReason;

    fn header(api_key: i16, api_version: i16) -> RequestHeader {
        RequestHeader { api_key, api_version, correlation_id: 7, client_id: Some("cli".into()) }
    }

    #[test]
    fn headers_are_read_back_with_and_without_tagged_fields() {
        for (key, version, length) in [(0, 8, 13), (0, 9, 14), (18, 2, 13), (18, 3, 14)] {
            let mut w = Writer::new();
            header(key, version).encode(&mut w);
            let bytes = w.finish_body().unwrap();
            assert_eq!(bytes.len(), length);
            let mut r = Reader::new(bytes);
            assert_eq!(RequestHeader::decode(&mut r), Ok(header(key, version)));
            assert_eq!(r.expect_end(), Ok(()));
        }
    }

    #[test]
    fn unknown_keys_and_versions_still_give_their_correlation_id() {
        for (key, version) in [(999, 0), (-5, -1), (18, 77), (0, 99)] {
            let mut frame = Vec::new();
            frame.extend_from_slice(&i16::to_be_bytes(key));
            frame.extend_from_slice(&i16::to_be_bytes(version));
            frame.extend_from_slice(&[0, 0, 0, 9, 0xff]);
            let header = RequestHeader::decode(&mut Reader::new(Bytes::from(frame))).unwrap();
            assert_eq!(header.api(), None);
            assert_eq!((header.correlation_id, header.client_id), (9, None));
        }
    }

    #[test]
    fn frames_shorter_than_a_header_are_refused() {
        let error =
            RequestHeader::decode(&mut Reader::new(Bytes::from_static(&[0, 0, 0]))).unwrap_err();
        assert_eq!((error.reason, error.field), (DecodeReason::Truncated, "RequestHeader"));
    }
}
