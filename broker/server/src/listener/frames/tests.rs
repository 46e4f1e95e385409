//! Frames come out as they went in, however they break, and keep next to nothing else alive.

use super::*;

fn feed(frames: &mut Frames, bytes: &[u8]) {
    frames.room(Appetite::Plenty).unwrap().get_mut().extend_from_slice(bytes);
}

fn next(frames: &mut Frames) -> Result<Option<Bytes>, FrameError> {
    Ok(frames.whole()?.map(|length| frames.take(length)))
}

#[test]
fn frames_are_cut_wherever_the_bytes_break() {
    let wire = b"\0\0\0\x03abc\0\0\0\0\0\0\0\x01z";
    for cut in 0..wire.len() {
        let mut frames = Frames::new(100);
        let mut got = Vec::new();
        for piece in [&wire[..cut], &wire[cut..]] {
            feed(&mut frames, piece);
            while let Some(frame) = next(&mut frames).unwrap() {
                got.push(frame);
            }
            frames.settle();
        }
        assert_eq!(got, [&b"abc"[..], b"", b"z"]);
        assert!(!frames.is_mid_frame());
    }
}

#[test]
fn a_giant_length_is_refused_and_reserves_nothing() {
    let mut frames = Frames::new(1000);
    feed(&mut frames, b"\x7f\xff\xff\xff");
    assert!(matches!(frames.whole(), Err(FrameError::TooLong { .. })));
    assert!(frames.room(Appetite::Plenty).is_err());
    let mut frames = Frames::new(64 << 20);
    feed(&mut frames, &(60_u32 << 20).to_be_bytes());
    assert_eq!(frames.large_frame_bytes(), Some(4 + (60 << 20)));
    assert!(frames.settle() == 0 && frames.buffer.capacity() <= FREE_BYTES);
}

#[test]
fn other_protocols_are_named() {
    for (bytes, name) in [(&b"GET / HTTP/1.1"[..], "HTTP"), (b"\x16\x03\x01\x02", "TLS")] {
        let mut frames = Frames::new(1000);
        feed(&mut frames, bytes);
        assert_eq!(next(&mut frames), Err(FrameError::OtherProtocol(name)));
    }
}

/// Plays the connection: reads as much as there is room for, up to `step`, and cuts. Calls `seen` with
/// each frame, and the bytes that it keeps alive.
fn play(wire: &[u8], step: usize, appetite: Appetite, mut seen: impl FnMut(Bytes, usize)) {
    let mut frames = Frames::new(1 << 20);
    let mut left = wire;
    while !left.is_empty() {
        let appetite = match frames.large_frame_bytes() {
            Some(_) => Appetite::ThisFrame,
            None => appetite,
        };
        let mut room = frames.room(appetite).unwrap();
        let bytes = room.chunk_mut().len();
        let read = bytes.min(step).min(left.len());
        assert!(read > 0, "a read without room looks like the end");
        room.put_slice(&left[..read]);
        left = &left[read..];
        frames.adapt(read, bytes);
        while let Some(length) = frames.whole().unwrap() {
            let start = frames.buffer.as_ptr() as usize;
            let inside = start..start + frames.buffer.len();
            let frame = frames.take(length);
            let shares = inside.contains(&(frame.as_ptr() as usize)) && length > 0;
            let kept = if shares { frames.allocated } else { length };
            seen(frame, kept);
        }
        frames.settle();
        if frames.large_frame_bytes().is_some() {
            frames.own();
        }
    }
    assert!(!frames.is_mid_frame());
}

/// Frames of many lengths, small ones between large ones.
fn lengths() -> Vec<usize> {
    let mut chance = 1_u64;
    let mut next = |below: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (chance >> 33) % below
    };
    let mut lengths = vec![0, 1, 100, 16_500, 16_500, 16_500, 65_536, 65_537, 300_000, 300_000, 7];
    for _ in 0..300 {
        let scale = 1 << (2 + next(17));
        lengths.push(next(scale) as usize);
    }
    lengths
}

fn wire_of(lengths: &[usize]) -> Vec<u8> {
    let mut wire = Vec::new();
    for (number, length) in lengths.iter().enumerate() {
        wire.extend((*length as u32).to_be_bytes());
        wire.extend(std::iter::repeat_n(number as u8, *length));
    }
    wire
}

#[test]
fn no_frame_keeps_much_more_alive_than_itself() {
    let lengths = lengths();
    let wire = wire_of(&lengths);
    for step in [700, 5_000, 40_000, usize::MAX] {
        let mut number = 0;
        play(&wire, step, Appetite::Plenty, |frame, kept| {
            assert_eq!(frame.len(), lengths[number]);
            assert!(frame.iter().all(|byte| *byte == number as u8));
            let allowed = frame.len() * PINNED_PER_FRAME_QUARTERS_MAX / 4;
            assert!(kept <= allowed + 4, "{} bytes keep {kept}", frame.len());
            number += 1;
        });
        assert_eq!(number, lengths.len());
    }
}

#[test]
fn neither_large_frames_nor_those_of_one_size_are_copied() {
    for (length, copied_first) in [(300_000, 0), (16_500, 3), (40_000, 3)] {
        let (mut number, mut copied) = (0, 0);
        play(&wire_of(&[length; 20]), usize::MAX, Appetite::Plenty, |_, kept| {
            // A copy is exactly as long as the frame.
            copied += usize::from(kept == length);
            number += 1;
        });
        assert_eq!(number, 20);
        assert!(copied <= copied_first, "{copied} frames of {length} bytes were copied");
    }
}

#[test]
fn with_little_appetite_no_more_is_held_than_is_free() {
    let mut frames = Frames::new(1 << 20);
    frames.room(Appetite::Little).unwrap().put_slice(&60_000_u32.to_be_bytes());
    for _ in 0..FREE_BYTES - 4 {
        assert_eq!(frames.settle(), 0);
        assert!(frames.allocated <= FREE_BYTES);
        frames.room(Appetite::Little).unwrap().put_u8(1);
    }
    assert_eq!(frames.room(Appetite::Little).unwrap().remaining_mut(), 0);
    assert_eq!(frames.settle(), 60_004);
    assert_eq!(frames.room(Appetite::ThisFrame).unwrap().remaining_mut(), 60_004 - FREE_BYTES);
    assert_eq!(frames.allocated, 60_004);
}

#[test]
fn what_has_come_is_counted_and_what_is_little_is_moved() {
    let mut frames = Frames::new(1 << 20);
    feed(&mut frames, &20_000_u32.to_be_bytes());
    feed(&mut frames, &[1; 500]);
    assert_eq!(frames.settle(), 0);
    assert!(frames.allocated <= FREE_BYTES);
    feed(&mut frames, &[1; 5_000]);
    assert!(frames.settle() >= frames.allocated.max(20_004));
    feed(&mut frames, &[1; 14_500]);
    assert_eq!(next(&mut frames).unwrap().unwrap().len(), 20_000);
    assert_eq!(frames.settle(), 0);
    assert_eq!(frames.allocated, 0);
}
