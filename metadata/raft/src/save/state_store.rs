//! The `StateStore` port: where applied state is saved, some seconds behind the log.
//!
//! Invariants every adapter keeps:
//! - A save is atomic: after a crash at any moment the store holds all of it or nothing of it, and the
//!   position it names is the position of exactly the records it holds.
//! - A save is durable when `save` returned `Ok`. After `Err` either the old or the new one is there;
//!   saving the same set again is right in both cases.
//! - Installing a snapshot replaces everything at once, however large it is.
//!
//! The real adapter blocks in place: its methods are called only from tasks on threads of their own
//! (`Spawn::dedicated`).

use std::sync::Arc;

use tidemill_base::ports::BoxFuture;
use tidemill_metadata_state::SaveSet;

use crate::error::StoreError;
use crate::log::{LogPosition, Membership};

/// A record of the saved state: key and value.
pub type SavedRecord = (Vec<u8>, Vec<u8>);

/// What a store holds: the state after which entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedPosition {
    /// The last entry that the state covers.
    pub applied: LogPosition,
    /// Who the members were. Needed only after an install; else the log knows better.
    pub membership: Membership,
    /// Whether the state came as a snapshot and the log may not have followed yet.
    pub installed: bool,
}

/// Saved state.
pub trait StateStore: Send + Sync + 'static {
    /// Where the saved state stands; `None` if nothing was ever saved. Opens the store if need be.
    fn position(&self) -> BoxFuture<'_, Result<Option<SavedPosition>, StoreError>>;

    /// All records as of one moment, to be read in chunks; `None` if nothing was ever saved. Later
    /// saves do not change what it reads, and are not held up by it.
    fn snapshot(&self) -> BoxFuture<'_, Result<Option<Box<dyn SavedSnapshot>>, StoreError>>;

    /// Applies the set's puts and deletes and moves to `position`, in one transaction.
    fn save<'a>(
        &'a self,
        position: &'a SavedPosition,
        set: &'a SaveSet,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Begins to replace everything by a snapshot. What an earlier, unfinished install left is
    /// dropped. Nothing changes before [`StateInstall::finish`].
    fn install(&self) -> BoxFuture<'_, Result<Box<dyn StateInstall>, StoreError>>;
}

/// Saved state as of one moment, being read.
pub trait SavedSnapshot: Send {
    /// Where it stands.
    fn position(&self) -> &SavedPosition;

    /// The next records in the order of their keys, about `bytes` of them; empty at the end.
    fn next_chunk(&mut self, bytes: usize) -> BoxFuture<'_, Result<Vec<SavedRecord>, StoreError>>;
}

/// A snapshot being installed.
pub trait StateInstall: Send {
    /// Adds records, in the order of their keys.
    fn add(&mut self, records: Vec<SavedRecord>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Puts the new state in the place of the old one, durably: file synced, renamed, directory
    /// synced.
    fn finish(
        self: Box<Self>,
        position: SavedPosition,
    ) -> BoxFuture<'static, Result<(), StoreError>>;
}

/// A shared store.
pub type SharedStore = Arc<dyn StateStore>;

/// How much of a snapshot is read or installed at a time.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;
