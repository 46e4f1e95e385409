//! Saving applied state behind the log ("write-behind"), so that a restart replays little.
//!
//! Read in this order: [`state_store`] (the port), [`redb_store`] (the adapter), `memory_store`
//! (the twin), `saver` (the task that saves).

#[cfg(any(test, feature = "twin"))]
pub mod memory_store;
pub mod redb_store;
pub(crate) mod saver;
pub mod state_store;

pub use redb_store::{RedbStore, STATE_CACHE_BYTES};
pub use state_store::{
    SavedPosition, SavedRecord, SavedSnapshot, SharedStore, StateInstall, StateStore,
};
