//! Replication of the metadata state machine by Raft, its log, its saved state and its watches.
//!
//! A quorum of one runs the same code as a larger one will: proposals are queued, made durable by
//! group commit in the Raft log, applied, told to watchers, and then answered. The Raft core is the
//! `raft` crate, which decides; this crate owns the log, the saved state, the ticks and the answers.
//!
//! Read in this order: [`handle`] (what callers hold), [`node`] (the member and its loop), [`log`]
//! (the Raft log on disk), [`save`] (saved state), [`watch`] (events), [`options`], [`error`],
//! [`metrics`], [`fuzz`].
//!
//! Not here: what commands mean (`tidemill-metadata-state`), housekeeping, the network.

pub(crate) mod budget;
#[cfg(test)]
mod doomed_disk;
pub mod error;
pub mod fuzz;
pub mod handle;
pub(crate) mod leader_clock;
pub mod log;
pub mod metrics;
pub mod node;
pub mod options;
pub(crate) mod raft_logger;
pub mod save;
pub(crate) mod snapshot;
pub mod watch;

pub use error::{OpenError, ProposeError, StoreError};
pub use handle::{MetadataHandle, Proposed, RaftMemory};
pub use metrics::RaftMetrics;
pub use node::{NewCluster, Ports, open};
pub use options::{LogOptions, RaftOptions};
#[cfg(any(test, feature = "twin"))]
pub use save::memory_store::MemoryStore;
pub use save::{RedbStore, STATE_CACHE_BYTES, SharedStore, StateStore};
pub use watch::{EventSink, NoSink, Subscription, WatchMessage};
