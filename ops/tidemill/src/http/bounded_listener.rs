//! A listener that accepts no more connections than it may have open.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::http::idle_stream::IdleStream;

/// A connection on which nothing moves for so long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The wait after an accept that failed, usually for want of file descriptors.
const FAILED_ACCEPT_WAIT: Duration = Duration::from_millis(100);

/// Accepts connections while fewer than a bound are open; further ones wait in the system's queue.
pub(crate) struct BoundedListener {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl BoundedListener {
    /// At most `connections_max` open connections of `listener`.
    pub(crate) fn new(listener: TcpListener, connections_max: usize) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(connections_max)) }
    }
}

impl Listener for BoundedListener {
    type Io = IdleStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok(place) = Arc::clone(&self.places).acquire_owned().await else {
                // The semaphore is never closed; without places there is nothing to accept.
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => return (IdleStream::new(stream, IDLE_TIMEOUT, place), peer),
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
