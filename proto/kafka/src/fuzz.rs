//! The fuzz target of the codec: a plain function, so that any driver can call it.
//!
//! It panics only when the codec breaks a promise: a frame that was read must be written, and read
//! back as the same message.

use bytes::Bytes;

use crate::api::{ApiKey, for_each_api};
use crate::consumer_protocol::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};
use crate::header::RequestHeader;
use crate::message::Message;
use crate::messages::*;
use crate::reader::Reader;
use crate::writer::Writer;

/// Takes `data` for a request's frame; for a response's frame whose first four bytes are the key
/// and version; and for the consumer protocol's messages. Whatever reads must read back the same.
///
/// # Panics
/// If the codec is broken. That is what it is for.
pub fn fuzz_frame(data: &[u8]) {
    let frame = Bytes::copy_from_slice(data);
    let mut r = Reader::new(frame.clone());
    if let Ok(header) = RequestHeader::decode(&mut r)
        && let Some(api) = header.api()
    {
        fuzz_request(api, r, header.api_version);
    }
    if let [key, key_low, version, version_low, ..] = *data
        && let Some(api) = ApiKey::from_number(i16::from_be_bytes([key, key_low]))
    {
        let body = Reader::new(frame.slice(4..));
        fuzz_response(api, body, i16::from_be_bytes([version, version_low]));
    }
    for version in ConsumerProtocolSubscription::VERSIONS {
        fuzz_message::<ConsumerProtocolSubscription>(Reader::new(frame.clone()), version);
        fuzz_message::<ConsumerProtocolAssignment>(Reader::new(frame.clone()), version);
    }
}

macro_rules! define_fuzz {
    ($($api:ident = $number:literal, $request:ident => $response:ident;)*) => {
        fn fuzz_request(api: ApiKey, r: Reader, version: i16) {
            match api {
                $(ApiKey::$api => fuzz_message::<$request>(r, version),)*
            }
        }

        fn fuzz_response(api: ApiKey, r: Reader, version: i16) {
            match api {
                $(ApiKey::$api => fuzz_message::<$response>(r, version),)*
            }
        }
    };
}
for_each_api!(define_fuzz);

fn fuzz_message<M: Message>(mut r: Reader, version: i16) {
    let Ok(message) = M::decode(&mut r, version) else { return };
    let mut w = Writer::new();
    message.encode(&mut w, version);
    let bytes = w.finish_body().expect("what was read can be written");
    let mut again = Reader::new(bytes);
    let read_back = M::decode(&mut again, version).expect("what was written can be read");
    again.expect_end().expect("all that was written is read");
    assert_eq!(message, read_back, "{} version {version}", M::NAME);
}
