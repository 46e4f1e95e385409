//! Answers on their way to the socket.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::Buf;
use tidemill_kafka::{Part, Parts};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::send;
use crate::budget::Held;

/// The most buffers one vectored write takes.
const SLICES_MAX: usize = 512;
/// Answers are gathered into one write up to this many bytes.
const GATHER_BYTES: usize = 1 << 20;
/// The most bytes written before the connection looks at what else there is to do.
const TURN_BYTES: usize = 4 << 20;

/// Answers in order.
#[derive(Default)]
pub(crate) struct Outbox {
    answers: VecDeque<(Parts, Holding)>,
    bytes: usize,
    /// Since when there is something to send, and how much has been sent since.
    sending: Option<(Instant, usize)>,
}

/// The memory that is held until an answer is sent.
#[expect(dead_code, reason = "it is held, and given back when dropped")]
pub(crate) struct Holding {
    /// That of its request.
    pub(crate) request: Option<Held>,
    /// Its own, unless it holds that itself.
    pub(crate) answer: Option<Held>,
}

impl Outbox {
    pub(crate) fn push(&mut self, answer: Parts, holding: Holding) {
        self.bytes += answer.len();
        self.answers.push_back((answer, holding));
        self.sending.get_or_insert_with(|| (Instant::now(), 0));
    }

    /// Since when there is something to send, and how many bytes have been sent since.
    pub(crate) fn sending(&self) -> Option<(Instant, usize)> {
        self.sending
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Whether more answers may be gathered before writing.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < GATHER_BYTES
    }

    /// Writes as much as the socket takes now, up to a turn's worth. Returns how many bytes went out.
    ///
    /// Each range of a file leaves as soon as it can. To hold packets back until they are full was
    /// measured: over loopback it takes 1.4 to 2.5 times the processor time, for it sends in bursts.
    pub(crate) fn write_to(&mut self, stream: &TcpStream) -> io::Result<usize> {
        let mut total = 0;
        while total < TURN_BYTES {
            let Some((first, _)) = self.answers.front() else { break };
            let sent = match first.front() {
                Some(Part::Lent(range)) => {
                    stream.try_io(Interest::WRITABLE, || send::range(stream, range))
                }
                _ => self.write_slices(stream),
            };
            match sent {
                Ok(sent) => {
                    self.advance(sent);
                    total += sent;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    /// Writes what lies in memory, up to the first range of a file.
    fn write_slices(&self, stream: &TcpStream) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let (mut filled, mut filled_bytes) = (0, 0);
        for (answer, _) in &self.answers {
            let begun = filled;
            filled += answer.chunks_vectored(&mut slices[filled..]);
            let in_answer = slices[begun..filled].iter().map(|slice| slice.len()).sum::<usize>();
            filled_bytes += in_answer;
            if filled == SLICES_MAX || in_answer < answer.len() {
                break;
            }
        }
        let slices = &slices[..filled];
        let more = filled_bytes < self.bytes;
        match stream.try_io(Interest::WRITABLE, || send::slices(stream, slices, more))? {
            0 if filled > 0 => Err(io::ErrorKind::WriteZero.into()),
            written => Ok(written),
        }
    }

    fn advance(&mut self, mut written: usize) {
        self.bytes -= written;
        self.sending = match (self.bytes, self.sending) {
            (0, _) | (_, None) => None,
            (_, Some((since, sent))) => Some((since, sent + written)),
        };
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
