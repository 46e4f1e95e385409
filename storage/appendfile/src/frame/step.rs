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
        let torn = |reason| Step::End(TailVerdict::Torn(reason));
        let Some(head) = window.first_chunk::<FRAME_HEAD_BYTES>() else {
            return match (at_end, window.iter().all(|byte| *byte == 0)) {
                (false, _) => Step::Need { bytes: FRAME_HEAD_BYTES },
                (true, true) => Step::End(TailVerdict::Clean),
                (true, false) => torn(TornReason::HeadCut),
            };
        };
        if *head == [0; FRAME_HEAD_BYTES] {
            return Step::End(TailVerdict::Clean);
        }
        let field =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, covered, crc) = (field(0), field(4), field(8));
        if length == 0 || covered > length || length > payload_bytes_max {
            return torn(TornReason::LengthImpossible);
        }
        let payload_bytes = length as usize;
        let Some(payload) = window[FRAME_HEAD_BYTES..].get(..payload_bytes) else {
            return match at_end {
                false => Step::Need { bytes: FRAME_HEAD_BYTES + payload_bytes },
                true => torn(TornReason::PayloadCut),
            };
        };
        let found = self.crc_of_head(position, length, covered);
        let found = crc32c::crc32c_append(found, &payload[..covered as usize]);
        if found != crc && !twins::is_on(Twin::TornTailAccepted) {
            return torn(TornReason::ChecksumWrong);
        }
        Step::Frame { payload_bytes }
    }
}
