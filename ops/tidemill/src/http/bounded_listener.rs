//! A listener that has no more connections open than it may.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::TcpListener;

use crate::http::places::Places;
use crate::http::timed_stream::TimedStream;

/// The wait after an accept that failed, usually for want of file descriptors.
const FAILED_ACCEPT_WAIT: Duration = Duration::from_millis(100);

/// Accepts connections. One beyond the bound takes the place of another, so that a probe gets through
/// whatever else is connected.
pub(crate) struct BoundedListener {
    listener: TcpListener,
    places: Arc<Places>,
}

impl BoundedListener {
    /// At most `connections_max` open connections of `listener`.
    pub(crate) fn new(listener: TcpListener, connections_max: usize) -> Self {
        Self { listener, places: Places::new(connections_max) }
    }
}

impl Listener for BoundedListener {
    type Io = TimedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let Some((place, leave)) = self.places.take().await else { continue };
                    return (TimedStream::new(stream, place, leave), peer);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept an HTTP connection; pausing");
                    tokio::time::sleep(FAILED_ACCEPT_WAIT).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
