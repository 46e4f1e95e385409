//! A connection for one request and its answer, each within its time.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};

use crate::http::places::Place;

/// From the beginning of a connection to the first byte of the answer.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// From the first byte of the answer to its last.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// No more is read once so many bytes of a request have come. Those that are served have some hundred.
const REQUEST_BYTES_MAX: usize = 16 << 10;

/// A TCP connection that ends when its time is up, whatever moves on it, or when its place is wanted.
pub(crate) struct TimedStream {
    stream: TcpStream,
    time_up: Pin<Box<Sleep>>,
    /// Ends when the place is wanted; gone once it has.
    leave: Option<oneshot::Receiver<()>>,
    request_bytes: usize,
    is_answered: bool,
    place: Place,
}

impl TimedStream {
    /// The time begins now.
    pub(super) fn new(stream: TcpStream, place: Place, leave: oneshot::Receiver<()>) -> Self {
        Self {
            stream,
            time_up: Box::pin(tokio::time::sleep(REQUEST_TIME)),
            leave: Some(leave),
            request_bytes: 0,
            is_answered: false,
            place,
        }
    }

    /// Fails once the time is up or the place is wanted; asks to be woken for both.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.time_up.as_mut().poll(context).is_ready() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let is_wanted =
            |leave: &mut oneshot::Receiver<()>| Pin::new(leave).poll(context).is_ready();
        if self.leave.as_mut().is_none_or(is_wanted) {
            self.leave = None;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }

    fn answer_begins(&mut self) {
        self.is_answered = true;
        self.time_up.as_mut().reset(Instant::now() + ANSWER_TIME);
        self.place.is_answered();
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        if self.request_bytes >= REQUEST_BYTES_MAX {
            return Poll::Ready(Err(io::ErrorKind::FileTooLarge.into()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.request_bytes += buffer.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.is_answered {
            self.answer_begins();
        }
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
