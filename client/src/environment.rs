//! What a client takes from the world: wall time, tasks, connections, and a seed.
//!
//! Invariant: this file is the only place that starts tasks, reads the wall clock or draws chance
//! from the system; all else asks the ports. Monotonic time and sleeping are `tokio::time`'s.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use tidemill_base::ports::{BoxFuture, SharedClock, SharedSpawn};
use tidemill_base::{Clock, Spawn, TimestampMs};

use crate::net::connector::{Connector, TcpConnector};

/// The ports of a client. Cloned into every part of it.
#[derive(Clone)]
pub struct Environment {
    /// Wall time, for timestamps of records.
    pub clock: SharedClock,
    /// Where tasks run.
    pub spawn: SharedSpawn,
    /// How connections are made.
    pub connector: Arc<dyn Connector>,
    /// What all chance (jitter, sticky partitions, choice of brokers) follows from.
    pub seed: u64,
}

impl Environment {
    /// The system's clock and sockets, tasks of the tokio runtime in which the client is used, and
    /// a seed of the system's.
    #[must_use]
    pub fn real() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            spawn: Arc::new(TokioSpawn),
            connector: Arc::new(TcpConnector),
            seed: RandomState::new().hash_one(0_u8),
        }
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment").field("seed", &self.seed).finish_non_exhaustive()
    }
}

struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the adapter of the Clock port")]
    fn now(&self) -> TimestampMs {
        let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
        TimestampMs(since.map_or(0, |since| since.as_millis() as i64))
    }
}

struct TokioSpawn;

impl Spawn for TokioSpawn {
    #[expect(clippy::disallowed_methods, reason = "this is the adapter of the Spawn port")]
    fn task(&self, _name: &'static str, task: BoxFuture<'static, ()>) {
        drop(tokio::spawn(task));
    }

    /// The client starts nothing that blocks; a task is as good.
    fn dedicated(&self, name: &'static str, task: BoxFuture<'static, ()>) {
        self.task(name, task);
    }
}
