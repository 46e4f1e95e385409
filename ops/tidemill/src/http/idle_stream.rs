//! A connection that ends when nothing moves on it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};

/// A TCP connection with an idle timeout and a place among the open ones.
pub(crate) struct IdleStream {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    timeout: Duration,
    _place: OwnedSemaphorePermit,
}

impl IdleStream {
    /// Reads and writes fail with `TimedOut` once nothing has moved for `timeout`. The place is given
    /// back when the connection is dropped.
    pub(crate) fn new(stream: TcpStream, timeout: Duration, place: OwnedSemaphorePermit) -> Self {
        Self { stream, idle: Box::pin(tokio::time::sleep(timeout)), timeout, _place: place }
    }

    /// Passes on what is ready; while nothing is, watches the time.
    fn timed<T>(
        &mut self,
        moved: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if moved.is_ready() {
            self.idle.as_mut().reset(Instant::now() + self.timeout);
            return moved;
        }
        ready!(self.idle.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for IdleStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.timed(read, context)
    }
}

impl AsyncWrite for IdleStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
