//! What a broker decides about fetches: who waits for what, and what a session remembers.

mod session;
mod sessions;
mod waits;

pub use session::{FetchTarget, Session, SessionPartition, TopicRef};
pub use sessions::{Begun, FetchSessions, Place, SessionError};
pub use waits::{FetchWaits, WaiterId};
