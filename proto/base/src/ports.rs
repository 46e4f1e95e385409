//! The ports that more than one crate calls: time and tasks.
//!
//! Simulation drives the same code through other adapters. Sleeping and monotonic time go through
//! `tokio::time`, whose clock the simulation owns; only wall time needs a port.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::position::TimestampMs;

/// A future that is owned and may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Wall time.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock now. May jump in either direction.
    fn now(&self) -> TimestampMs;
}

/// Starts tasks.
pub trait Spawn: Send + Sync + 'static {
    /// Runs `task` beside others. It must not block.
    fn task(&self, name: &'static str, task: BoxFuture<'static, ()>);

    /// Runs `task` on a thread of its own, where it may block (on a disk). In simulation it runs
    /// beside the others and never blocks.
    fn dedicated(&self, name: &'static str, task: BoxFuture<'static, ()>);
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// A shared spawner.
pub type SharedSpawn = Arc<dyn Spawn>;
