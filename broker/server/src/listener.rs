//! The Kafka listener: accepts connections and runs one task for each.
//!
//! Bounds: connections in all, bytes per frame, frames in flight per connection, memory of requests
//! ([`Budget`], counted while a large frame still arrives), memory of smaller frames that still arrive
//! ([`ListenerLimits::partial_bytes_max`]), time without a byte, time for one frame.
//! Past a bound a connection waits or is closed; others do not notice.

mod complaints;
mod connection;
mod frames;
mod outbox;
mod send;
#[cfg(test)]
mod tests;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidemill_base::ports::SharedSpawn;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use self::complaints::Complaints;
use crate::budget::Budget;
use crate::service::Service;

/// What bounds a listener.
#[derive(Clone, Debug)]
pub struct ListenerLimits {
    /// Connections open at once. Further ones are closed at once. Default 16,384.
    pub connections_max: usize,
    /// The largest frame in bytes. Default 64 MiB.
    pub request_bytes_max: u32,
    /// Requests of one connection that may wait for their answers. Default 64.
    pub requests_in_flight_max: usize,
    /// A connection on which nothing moves for this long is closed. Default 10 min.
    pub idle_timeout: Duration,
    /// A frame that was begun, or an answer that is being sent, must move on within this time.
    /// Default 30 s.
    pub stall_timeout: Duration,
    /// A frame must be whole this long after it was begun, however steadily it trickles in: it
    /// holds memory that others wait for. Default 60 s.
    pub frame_timeout: Duration,
    /// Bytes of all frames of up to 64 KiB that were begun and wait for their rest, but for less than
    /// 1 KiB of each connection. Past it connections take in no more than that until others are done.
    /// Default 32 MiB.
    pub partial_bytes_max: u32,
    /// What the system is asked to hold of answers on their way to one client; it takes twice that,
    /// for what it needs besides. 0: what the system chooses, which grows to megabytes. Default 200 KiB.
    pub send_buffer_bytes: u32,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            request_bytes_max: 64 << 20,
            requests_in_flight_max: 64,
            idle_timeout: Duration::from_secs(600),
            stall_timeout: Duration::from_secs(30),
            frame_timeout: Duration::from_secs(60),
            partial_bytes_max: 32 << 20,
            send_buffer_bytes: 200 << 10,
        }
    }
}

/// What a listener counts.
#[derive(Debug, Default)]
pub struct ListenerCounters {
    /// Connections accepted.
    pub accepted: AtomicU64,
    /// Connections open now.
    pub open: AtomicU64,
    /// Connections turned away because too many were open.
    pub refused: AtomicU64,
    /// Connections closed because of what was received on them.
    pub protocol_errors: AtomicU64,
    /// Bytes received.
    pub bytes_in: AtomicU64,
    /// Bytes sent.
    pub bytes_out: AtomicU64,
}

/// The memory that connections hold, or see others hold.
#[derive(Clone, Debug)]
pub struct ListenerMemory {
    /// For requests, until their answers are sent.
    pub requests: Budget,
    /// For what has come of frames that are not large, until they are whole.
    pub partial: Budget,
    /// For answers, until they are sent. The service takes it; who holds it too long while others
    /// wait is told here.
    pub answers: Budget,
    /// For answers but for the records in them, until they are sent.
    pub answer_frames: Budget,
}

/// What all connections of a listener share.
pub(crate) struct Shared {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) limits: ListenerLimits,
    pub(crate) memory: Budget,
    /// Memory of frames that are not large and wait for their rest.
    pub(crate) partial: Budget,
    /// See [`ListenerMemory::answers`].
    pub(crate) answers: Budget,
    /// See [`ListenerMemory::answer_frames`].
    pub(crate) answer_frames: Budget,
    pub(crate) complaints: Complaints,
    pub(crate) counters: Arc<ListenerCounters>,
    pub(crate) closing: watch::Receiver<bool>,
}

/// Accepts connections until `closing` becomes true; then connections answer what they have taken in
/// and close.
pub async fn serve(
    listener: TcpListener,
    service: Arc<dyn Service>,
    limits: ListenerLimits,
    memory: ListenerMemory,
    counters: Arc<ListenerCounters>,
    spawn: SharedSpawn,
    closing: watch::Receiver<bool>,
) {
    let ListenerMemory { requests: memory, partial, answers, answer_frames } = memory;
    let complaints = Complaints::default();
    let shared = Shared {
        service,
        limits,
        memory,
        partial,
        answers,
        answer_frames,
        complaints,
        counters,
        closing,
    };
    serve_shared(listener, Arc::new(shared), spawn).await;
}

async fn serve_shared(listener: TcpListener, shared: Arc<Shared>, spawn: SharedSpawn) {
    let places = Arc::new(Semaphore::new(shared.limits.connections_max));
    let mut closing = shared.closing.clone();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                pause_after_failed_accept(&error).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            shared.counters.refused.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%peer, max = shared.limits.connections_max, "too many connections");
            continue;
        };
        if let Err(error) = prepare(&stream, &shared.limits) {
            tracing::debug!(%peer, %error, "connection lost before it was used");
            continue;
        }
        let shared = Arc::clone(&shared);
        spawn.task(
            "connection",
            Box::pin(async move {
                connection::run(stream, peer, shared).await;
                drop(place);
            }),
        );
    }
}

/// Without descriptors left, accepting again at once would only burn the processor.
async fn pause_after_failed_accept(error: &io::Error) {
    tracing::warn!(%error, "cannot accept a connection; pausing for 100 ms");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

fn prepare(stream: &TcpStream, limits: &ListenerLimits) -> io::Result<()> {
    if limits.send_buffer_bytes > 0 {
        let bytes = usize::try_from(limits.send_buffer_bytes).unwrap_or(usize::MAX);
        socket2::SockRef::from(stream).set_send_buffer_size(bytes)?;
    }
    stream.set_nodelay(true)
}

/// Binds an address with a backlog that fits many clients reconnecting at once.
///
/// # Errors
/// What the system says, with the address named by the caller.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(4096)?;
    TcpListener::from_std(socket.into())
}
