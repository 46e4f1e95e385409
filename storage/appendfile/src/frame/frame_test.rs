//! The format: its layout, its tails told apart, and no change to a frame that goes unnoticed.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

fn header(name: &[u8]) -> FileHeader {
    FileHeader::new(1, name).unwrap()
}

#[test]
fn a_header_comes_back() {
    let header = header(b"log/0-1-1-0-f1.log");
    assert_eq!(FileHeader::decode(&header.encode()), Ok(header));
}

#[test]
fn a_header_is_refused_by_reason() {
    let good = header(b"x").encode();
    assert_eq!(FileHeader::decode(&good[..63]), Err(HeaderError::Cut));
    assert_eq!(FileHeader::decode(&[0; 64]), Err(HeaderError::Blank));
    let mut other = good;
    other[0] ^= 1;
    assert_eq!(FileHeader::decode(&other), Err(HeaderError::MagicWrong));
    let mut damaged = good;
    damaged[12] ^= 1;
    assert_eq!(FileHeader::decode(&damaged), Err(HeaderError::ChecksumWrong));
    let mut newer = good;
    newer[8] = 2;
    let crc = crc32c::crc32c(&newer[..60]);
    newer[60..].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(FileHeader::decode(&newer), Err(HeaderError::VersionUnknown(2)));
    assert!(FileHeader::new(1, &[7; 49]).is_none());
}

#[test]
fn the_layout_is_the_documented_one() {
    let header = header(b"a").encode();
    assert_eq!(&header[..13], b"TIDEFILE\x01\x00\x01\x01a");
    assert_eq!(header[60..], crc32c::crc32c(&header[..60]).to_le_bytes());
    let seal = FrameSeal::of(&FileHeader::decode(&header).unwrap());
    let frame = seal.frame(64, b"hi").unwrap();
    assert_eq!(&frame[..8], &[2, 0, 0, 0, 2, 0, 0, 0]);
    let mut sealed = header[..60].to_vec();
    sealed.extend([64, 0, 0, 0, 0, 0, 0, 0]);
    sealed.extend(&frame[..8]);
    sealed.extend(b"hi");
    assert_eq!(frame[8..12], crc32c::crc32c(&sealed).to_le_bytes());
}

#[test]
fn a_frame_of_another_place_or_file_is_torn() {
    let seal = FrameSeal::of(&header(b"a"));
    let frame = seal.frame(64, b"payload").unwrap();
    assert_eq!(seal.step(64, &frame, true, 100), Step::Frame { payload_bytes: 7 });
    let wrong = Step::End(TailVerdict::Torn(TornReason::ChecksumWrong));
    assert_eq!(seal.step(65, &frame, true, 100), wrong);
    assert_eq!(FrameSeal::of(&header(b"b")).step(64, &frame, true, 100), wrong);
}

#[test]
fn tails_are_told_apart() {
    let seal = FrameSeal::of(&header(b"a"));
    let frame = seal.frame(64, b"payload").unwrap();
    let torn = |reason| Step::End(TailVerdict::Torn(reason));
    assert_eq!(seal.step(64, &[], true, 100), Step::End(TailVerdict::Clean));
    assert_eq!(seal.step(64, &[0; 5], true, 100), Step::End(TailVerdict::Clean));
    assert_eq!(seal.step(64, &[0; 50], false, 100), Step::End(TailVerdict::Clean));
    assert_eq!(seal.step(64, &frame[..5], false, 100), Step::Need { bytes: 12 });
    assert_eq!(seal.step(64, &frame[..5], true, 100), torn(TornReason::HeadCut));
    assert_eq!(seal.step(64, &frame[..15], false, 100), Step::Need { bytes: 19 });
    assert_eq!(seal.step(64, &frame[..15], true, 100), torn(TornReason::PayloadCut));
    assert_eq!(seal.step(64, &frame, true, 6), torn(TornReason::LengthImpossible));
}

#[test]
fn an_empty_payload_is_no_frame() {
    assert_eq!(FrameSeal::of(&header(b"a")).head(64, &[Bytes::new()], Covered::All), None);
}

#[test]
fn bytes_beyond_the_covered_prefix_are_not_summed() {
    let seal = FrameSeal::of(&header(b"a"));
    let parts = [Bytes::from_static(b"he"), Bytes::from_static(b"ad-body")];
    let head = seal.head(64, &parts, Covered::Prefix(4)).unwrap();
    let mut frame = head.to_vec();
    frame.extend(b"head-body");
    assert_eq!(seal.step(64, &frame, true, 100), Step::Frame { payload_bytes: 9 });
    frame[12 + 8] ^= 1;
    assert_eq!(seal.step(64, &frame, true, 100), Step::Frame { payload_bytes: 9 });
    frame[12 + 3] ^= 1;
    let wrong = Step::End(TailVerdict::Torn(TornReason::ChecksumWrong));
    assert_eq!(seal.step(64, &frame, true, 100), wrong);
}

proptest! {
    #[test]
    fn any_changed_byte_of_a_covered_frame_is_noticed(
        payload in proptest::collection::vec(any::<u8>(), 1..300),
        position in any::<u64>(),
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let seal = FrameSeal::of(&header(b"a"));
        let mut frame = seal.frame(position, &payload).unwrap().to_vec();
        prop_assert_eq!(
            seal.step(position, &frame, true, 300),
            Step::Frame { payload_bytes: payload.len() }
        );
        let at = at.index(frame.len());
        frame[at] ^= flip;
        let whole = matches!(seal.step(position, &frame, true, 300), Step::Frame { .. });
        prop_assert!(!whole);
    }
}
