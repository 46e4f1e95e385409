//! A non-blocking connection that speaks frames.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::wire::FRAME_LENGTH_BYTES;

/// The largest answer that is taken; a larger one ends the run.
const FRAME_BYTES_MAX: usize = 64 << 20;

/// The most bytes thrown away at once.
const DISCARD_BYTES_MAX: usize = 1 << 20;

/// How long a broker may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection and what has arrived on it.
#[derive(Debug)]
pub struct FramedSocket {
    stream: TcpStream,
    inbound: Vec<u8>,
    filled: usize,
}

impl FramedSocket {
    /// Connects; `inbound_bytes` is the usual size of all answers that may be on their way.
    pub fn connect(broker: SocketAddr, inbound_bytes: usize) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&broker, CONNECT_TIMEOUT)
            .with_context(|| format!("connect to {broker}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, inbound: vec![0; inbound_bytes.max(4096)], filled: 0 })
    }

    /// The socket, for the poller.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Writes what is left of `parts` after the first `written` bytes, as far as the socket takes it.
    /// Answers how much of them is written now.
    pub fn write(&mut self, parts: [&[u8]; 3], written: usize) -> io::Result<usize> {
        let whole: usize = parts.iter().map(|part| part.len()).sum();
        let mut done = written;
        while done < whole {
            let mut skip = done;
            let slices = parts.map(|part| {
                let skipped = skip.min(part.len());
                skip -= skipped;
                IoSlice::new(&part[skipped..])
            });
            match self.stream.write_vectored(&slices) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(more) => done += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Reads once and gives every whole frame, without its length field, to `visit`. The poller is
    /// level-triggered, so whatever is left announces itself again.
    pub fn read(
        &mut self,
        mut visit: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self.stream.read(&mut self.inbound[self.filled..]) {
            Ok(0) => bail!("the broker closed the connection"),
            Ok(more) => self.filled += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error).context("read an answer"),
        }
        let mut consumed = 0;
        while let Some(frame_bytes) = self.whole_frame_at(consumed)? {
            visit(&self.inbound[consumed + FRAME_LENGTH_BYTES..consumed + frame_bytes])?;
            consumed += frame_bytes;
        }
        if consumed > 0 {
            self.inbound.copy_within(consumed..self.filled, 0);
            self.filled -= consumed;
        }
        Ok(())
    }

    /// Reads at most `buffer`, once; none if nothing is there.
    pub fn take(&mut self, buffer: &mut [u8]) -> anyhow::Result<Option<usize>> {
        arrived(rustix::net::recv(&self.stream, buffer, RecvFlags::empty()).map(|(_, bytes)| bytes))
    }

    /// Throws at most `count` bytes away that have arrived, without copying them (`MSG_TRUNC`, see
    /// tcp(7)); none if nothing is there.
    pub fn discard(&mut self, count: usize) -> anyhow::Result<Option<usize>> {
        if self.inbound.len() < count.min(DISCARD_BYTES_MAX) {
            self.inbound = vec![0; DISCARD_BYTES_MAX];
        }
        let count = count.min(self.inbound.len());
        // TCP leaves the buffer as it is, so its pages are never touched.
        let received =
            rustix::net::recv(&self.stream, &mut self.inbound[..count], RecvFlags::TRUNC);
        arrived(received.map(|(_, bytes)| bytes))
    }

    /// The size of the frame at `at` if all of it is here; makes room for it if it never would be.
    fn whole_frame_at(&mut self, at: usize) -> anyhow::Result<Option<usize>> {
        let Some(length) = self.inbound[at..self.filled].first_chunk::<FRAME_LENGTH_BYTES>() else {
            return Ok(None);
        };
        let frame_bytes = FRAME_LENGTH_BYTES + u32::from_be_bytes(*length) as usize;
        anyhow::ensure!(frame_bytes <= FRAME_BYTES_MAX, "an answer of {frame_bytes} bytes");
        if frame_bytes > self.inbound.len() {
            self.inbound.resize(frame_bytes, 0);
        }
        Ok((self.filled - at >= frame_bytes).then_some(frame_bytes))
    }
}

fn arrived(received: Result<usize, Errno>) -> anyhow::Result<Option<usize>> {
    match received {
        Ok(0) => bail!("the broker closed the connection"),
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error).context("read an answer"),
    }
}
