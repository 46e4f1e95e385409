//! Snapshots of the state: read from what was written behind, and installed in the place of
//! everything a member has.
//!
//! Installing goes in steps, and a crash between any two is recovered: the new state is complete
//! under another name; it takes the old one's place at once (and says that it was installed); the log
//! begins anew behind it. A crash after the second step is completed by the next start (`opening`).
//!
//! Not here: sending snapshots, at a limited rate, which comes with the network.

use crate::error::{OpenError, StoreError};
use crate::log::raft_log::RaftLog;
use crate::save::state_store::{CHUNK_BYTES, SavedPosition, SavedSnapshot, StateStore};

#[cfg(test)]
mod tests;

/// Copies a snapshot into `store` and starts `log` anew behind it.
#[cfg_attr(not(test), expect(dead_code, reason = "called by the network between members"))]
pub(crate) async fn install(
    snapshot: &mut dyn SavedSnapshot,
    store: &dyn StateStore,
    log: &mut RaftLog,
) -> Result<(), OpenError> {
    let position = SavedPosition { installed: true, ..snapshot.position().clone() };
    copy(snapshot, store, position.clone()).await.map_err(OpenError::store)?;
    log.start_anew(position.applied, position.membership).await.map_err(OpenError::disk)
}

async fn copy(
    snapshot: &mut dyn SavedSnapshot,
    store: &dyn StateStore,
    position: SavedPosition,
) -> Result<(), StoreError> {
    let mut install = store.install().await?;
    loop {
        let chunk = snapshot.next_chunk(CHUNK_BYTES).await?;
        if chunk.is_empty() {
            return install.finish(position).await;
        }
        install.add(chunk).await?;
    }
}
