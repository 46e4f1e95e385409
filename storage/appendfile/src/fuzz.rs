//! Fuzz targets: plain functions over any bytes, which must not panic, hang or hold more memory than
//! their input.

use crate::frame::{FRAME_HEAD_BYTES, FileHeader, FrameSeal, HEADER_BYTES, Step};

/// The largest payload the target allows.
const PAYLOAD_BYTES_MAX: u32 = 1024 * 1024;

/// Reads `data` as an append file: header, then frames to the tail. Where the header is no good, the
/// frames are read under a fixed one, so that mutations reach them.
///
/// # Panics
/// If a step would read beyond the data or go backwards: a bug found.
pub fn fuzz_frames(data: &[u8]) {
    let mut header = [0; HEADER_BYTES];
    header[..data.len().min(HEADER_BYTES)].copy_from_slice(&data[..data.len().min(HEADER_BYTES)]);
    let seal = match FileHeader::decode(&header) {
        Ok(found) => {
            assert_eq!(FileHeader::decode(&found.encode()), Ok(found.clone()));
            FrameSeal::of(&found)
        }
        Err(_) => match FileHeader::new(0, b"fuzz") {
            Some(header) => FrameSeal::of(&header),
            None => return,
        },
    };
    let mut at = HEADER_BYTES.min(data.len());
    loop {
        let window = &data[at..];
        // The same bytes seen through a window that is too short must never be judged otherwise.
        let short = &window[..window.len() / 2];
        let cut = seal.step(at as u64, short, false, PAYLOAD_BYTES_MAX);
        let whole = seal.step(at as u64, window, true, PAYLOAD_BYTES_MAX);
        if let Step::Need { bytes } = cut {
            assert!(bytes > short.len());
            assert!(bytes <= FRAME_HEAD_BYTES + PAYLOAD_BYTES_MAX as usize);
        } else {
            assert_eq!(cut, whole);
        }
        // Skimming sees less and may only miss damage behind the covered bytes.
        let skimmed = seal.skim_step(at as u64, window, window.len() as u64, PAYLOAD_BYTES_MAX);
        assert_eq!(skimmed, whole);
        match whole {
            Step::Frame { payload_bytes } => at += FRAME_HEAD_BYTES + payload_bytes,
            Step::Need { .. } => unreachable!("a whole file needs no more bytes"),
            Step::End(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::Dice;

    #[test]
    fn frames_survive_mutated_files() {
        let header = FileHeader::new(3, b"file").unwrap();
        let seal = FrameSeal::of(&header);
        let mut file = header.encode().to_vec();
        for payload in [&b"one"[..], &[7; 600], b"three"] {
            let frame = seal.frame(file.len() as u64, payload).unwrap();
            file.extend_from_slice(&frame);
        }
        let mut dice = Dice::new(1);
        for _ in 0..20_000 {
            let mut mutated = file.clone();
            for _ in 0..=dice.below(3) {
                let at = dice.below(mutated.len() as u64) as usize;
                mutated[at] = dice.roll() as u8;
            }
            mutated.truncate(1 + dice.below(mutated.len() as u64) as usize);
            fuzz_frames(&mutated);
        }
    }
}
