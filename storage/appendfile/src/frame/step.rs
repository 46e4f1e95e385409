//! One step of a scan: what stands at a position, judged from the bytes at hand.

use tidemill_base::twins::{self, Twin};

use super::{FRAME_HEAD_BYTES, FrameSeal};

/// What stands at a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A frame whose payload follows its head with this many bytes.
    Frame {
        /// The payload's length.
        payload_bytes: usize,
    },
    /// The bytes at hand do not tell; this many from the position on would.
    Need {
        /// Never more than a head plus the largest frame allowed.
        bytes: usize,
    },
    /// No frame stands here.
    End(TailVerdict),
}

/// How a file's frames end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TailVerdict {
    /// The file ends, or preallocated zeros begin, right after a frame.
    Clean,
    /// A write never finished, or bytes were damaged. What stands from here on was never
    /// acknowledged, if the file was synced only by its owner and its disk keeps what it synced.
    Torn(TornReason),
}

/// What shows that a tail is torn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TornReason {
    /// The file ends within a frame's head.
    HeadCut,
    /// The length is beyond the largest frame, or less than what is covered.
    LengthImpossible,
    /// The file ends within a frame's payload.
    PayloadCut,
    /// The checksum does not match.
    ChecksumWrong,
}

impl FrameSeal {
    /// Judges what stands at `position`, where `window` are the bytes from there on, and
    /// `at_end` says that the file ends with them. A frame's payload has at most
    /// `payload_bytes_max` bytes.
    #[must_use]
    pub fn step(&self, position: u64, window: &[u8], at_end: bool, payload_bytes_max: u32) -> Step {
        match self.judge(window, at_end, payload_bytes_max) {
            Ok(head) => {
                let Some(payload) = window[FRAME_HEAD_BYTES..].get(..head.length as usize) else {
                    return match at_end {
                        false => Step::Need { bytes: FRAME_HEAD_BYTES + head.length as usize },
                        true => torn(TornReason::PayloadCut),
                    };
                };
                self.check(position, head, payload)
            }
            Err(step) => step,
        }
    }

    /// Judges as [`step`](Self::step) does, from a window that need hold only the head and the covered
    /// bytes; `bytes_left` is how much of the file there is from `position` on. Frames whose payload
    /// is mostly not covered are passed over without reading it.
    #[must_use]
    pub fn skim_step(
        &self,
        position: u64,
        window: &[u8],
        bytes_left: u64,
        payload_bytes_max: u32,
    ) -> Step {
        let at_end = window.len() as u64 >= bytes_left;
        match self.judge(window, at_end, payload_bytes_max) {
            Ok(head) if FRAME_HEAD_BYTES as u64 + u64::from(head.length) > bytes_left => {
                torn(TornReason::PayloadCut)
            }
            Ok(head) => match window[FRAME_HEAD_BYTES..].get(..head.covered as usize) {
                Some(covered) => self.check(position, head, covered),
                None => Step::Need { bytes: FRAME_HEAD_BYTES + head.covered as usize },
            },
            Err(step) => step,
        }
    }

    /// The head at the start of `window`, if it can be one.
    fn judge(&self, window: &[u8], at_end: bool, payload_bytes_max: u32) -> Result<Head, Step> {
        let Some(head) = window.first_chunk::<FRAME_HEAD_BYTES>() else {
            return Err(match (at_end, window.iter().all(|byte| *byte == 0)) {
                (false, _) => Step::Need { bytes: FRAME_HEAD_BYTES },
                (true, true) => Step::End(TailVerdict::Clean),
                (true, false) => torn(TornReason::HeadCut),
            });
        };
        if *head == [0; FRAME_HEAD_BYTES] {
            return Err(Step::End(TailVerdict::Clean));
        }
        let field =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let head = Head { length: field(0), covered: field(4), crc: field(8) };
        if head.length == 0 || head.covered > head.length || head.length > payload_bytes_max {
            return Err(torn(TornReason::LengthImpossible));
        }
        Ok(head)
    }

    fn check(&self, position: u64, head: Head, payload: &[u8]) -> Step {
        let found = self.crc_of_head(position, head.length, head.covered);
        let found = crc32c::crc32c_append(found, &payload[..head.covered as usize]);
        if found != head.crc && !twins::is_on(Twin::TornTailAccepted) {
            return torn(TornReason::ChecksumWrong);
        }
        Step::Frame { payload_bytes: head.length as usize }
    }
}

/// A head as read, not checked.
#[derive(Clone, Copy)]
struct Head {
    length: u32,
    covered: u32,
    crc: u32,
}

fn torn(reason: TornReason) -> Step {
    Step::End(TailVerdict::Torn(reason))
}
