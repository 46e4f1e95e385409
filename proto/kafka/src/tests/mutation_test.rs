//! Damaged frames: whatever is done to the bytes of a message, nothing panics and what still reads
//! is written and read back the same.

use bytes::Bytes;

use crate::api::for_each_api;
use crate::frame::encode_request;
use crate::fuzz::fuzz_frame;
use crate::message::{Message, Request, sample};
use crate::messages::*;
use crate::tests::sample::{Sample, Sampler};
use crate::writer::Writer;

/// How many damaged copies are made of each message.
const DAMAGED_COPIES: usize = 30;

/// A request's frame without its length, as [`fuzz_frame`] takes it.
pub(crate) fn request_frame<R: Request + Sample>(s: &mut Sampler, version: i16) -> Bytes {
    let request: R = sample(s, version);
    encode_request(1, Some(&"id".into()), &request, version).unwrap().to_bytes().slice(4..)
}

/// A response behind its key and version, as [`fuzz_frame`] takes it.
pub(crate) fn response_frame<R: Request>(s: &mut Sampler, version: i16) -> Bytes
where
    R::Response: Sample,
{
    let response: R::Response = sample(s, version);
    let mut w = Writer::new();
    w.i16(R::API.number());
    w.i16(version);
    response.encode(&mut w, version);
    w.finish_body().unwrap()
}

fn damage(s: &mut Sampler, frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    // The key and version stay, so that the damage reaches the message.
    for _ in 0..=s.below(3) {
        let at = 4 + s.below(bytes.len().saturating_sub(4));
        match s.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), s.number() as u8),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 if at < bytes.len() => bytes[at] = [0x00, 0x01, 0x7f, 0x80, 0xff][s.below(5)],
            4 if at + 4 < bytes.len() => bytes[at..at + 4].fill(0xff),
            _ if at < bytes.len() => bytes[at] ^= 1 << s.below(8),
            _ => {}
        }
    }
    bytes
}

#[test]
fn damaged_frames_never_panic() {
    let mut s = Sampler::new(17);
    macro_rules! damage_all {
        ($($api:ident = $number:literal, $request:ident => $response:ident;)*) => {$(
            for version in $request::VERSIONS {
                let frames = [
                    request_frame::<$request>(&mut s, version),
                    response_frame::<$request>(&mut s, version),
                ];
                for frame in frames {
                    fuzz_frame(&frame);
                    for _ in 0..DAMAGED_COPIES {
                        fuzz_frame(&damage(&mut s, &frame));
                    }
                }
            }
        )*};
    }
    for_each_api!(damage_all);
}

#[test]
fn random_bytes_never_panic() {
    let mut s = Sampler::new(18);
    for _ in 0..20_000 {
        let length = s.below(64);
        let mut bytes: Vec<u8> = (0..length).map(|_| s.number() as u8).collect();
        if let [key_high, key, version_high, version, ..] = bytes.as_mut_slice() {
            (*key_high, *version_high) = (0, 0);
            (*key, *version) = (*key % 80, *version % 20);
        }
        fuzz_frame(&bytes);
    }
}
