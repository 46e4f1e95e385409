//! Answers on their way to the socket.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::Buf;
use tidemill_kafka::Parts;
use tokio::net::TcpStream;

use crate::budget::Held;

/// The most buffers one vectored write takes.
const SLICES_MAX: usize = 512;
/// Answers are gathered into one write up to this many bytes.
const GATHER_BYTES: usize = 1 << 20;

/// Answers in order, each with the memory its request holds until it is sent.
#[derive(Default)]
pub(crate) struct Outbox {
    answers: VecDeque<(Parts, Option<Held>)>,
    bytes: usize,
}

impl Outbox {
    pub(crate) fn push(&mut self, answer: Parts, held: Option<Held>) {
        self.bytes += answer.len();
        self.answers.push_back((answer, held));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Whether more answers may be gathered before writing.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < GATHER_BYTES
    }

    /// Writes as much as the socket takes now. Returns how many bytes went out.
    pub(crate) fn write_to(&mut self, stream: &TcpStream) -> io::Result<usize> {
        let mut total = 0;
        while !self.answers.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let mut filled = 0;
            for (answer, _) in &self.answers {
                filled += answer.chunks_vectored(&mut slices[filled..]);
                if filled == SLICES_MAX {
                    break;
                }
            }
            match stream.try_write_vectored(&slices[..filled]) {
                Ok(0) if filled > 0 => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.advance(written);
                    total += written;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(total),
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    fn advance(&mut self, mut written: usize) {
        self.bytes -= written;
        while let Some((answer, _)) = self.answers.front_mut() {
            let step = written.min(answer.len());
            answer.advance(step);
            written -= step;
            if !answer.is_empty() {
                return;
            }
            self.answers.pop_front();
        }
    }
}
