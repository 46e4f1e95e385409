//! What stands between bytes and requests: a service answers frames.
//!
//! The listener knows only this; the simulation calls it without a socket.

use std::net::SocketAddr;

use bytes::Bytes;
use tidemill_base::ports::BoxFuture;
use tidemill_kafka::Parts;

/// Answers the frames of connections.
pub trait Service: Send + Sync + 'static {
    /// A connection has been opened.
    fn connect(&self, peer: SocketAddr) -> Box<dyn ServiceConnection>;
}

/// Answers the frames of one connection.
pub trait ServiceConnection: Send + Sync {
    /// Takes one frame, without its length. Produce requests are admitted before this returns, or
    /// before [`Dispatched::Pending`] ends, so that those of one connection keep their order; other
    /// work starts when the answer is awaited.
    fn dispatch(&mut self, frame: Bytes) -> Dispatched;
}

/// What became of a frame.
pub enum Dispatched {
    /// The answer.
    Ready(Parts),
    /// The answer will come; until it is at the head of the connection's answers it is not polled.
    Later(BoxFuture<'static, Parts>),
    /// What becomes of it takes a while. Until that is known no other frame of the connection may be
    /// dispatched.
    Pending(BoxFuture<'static, Dispatched>),
    /// There is no answer on the wire (acks=0), but the frame's memory is held until this ends.
    Silent(BoxFuture<'static, ()>),
    /// The connection cannot go on.
    Close(String),
}
