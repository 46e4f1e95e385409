//! Saved state in memory: a twin of the redb store with the durability of a file.
//!
//! A save or an install takes simulated time and becomes durable at its end; a crash before that
//! leaves the old state whole. Clones share the store, so that a test keeps one across "restarts".

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tidemill_base::ErrorKind;
use tidemill_base::ports::BoxFuture;
use tidemill_metadata_state::SaveSet;

use crate::error::StoreError;
use crate::save::state_store::{
    SavedPosition, SavedRecord, SavedSnapshot, StateInstall, StateStore,
};

/// Saved state in memory.
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Content>>,
}

#[derive(Default)]
struct Content {
    saved: Option<Saved>,
    life: u64,
    save_takes: Duration,
    failing: bool,
    saves: u64,
}

#[derive(Clone, Default)]
struct Saved {
    position: SavedPosition,
    records: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl MemoryStore {
    /// Ends the process: saves and installs under way never become durable.
    pub fn crash(&self) {
        self.shared.lock().life += 1;
    }

    /// How long a save takes from now on.
    pub fn set_save_takes(&self, save_takes: Duration) {
        self.shared.lock().save_takes = save_takes;
    }

    /// Whether saves and installs fail from now on.
    pub fn set_failing(&self, failing: bool) {
        self.shared.lock().failing = failing;
    }

    /// How many saves succeeded.
    #[must_use]
    pub fn saves(&self) -> u64 {
        self.shared.lock().saves
    }

    async fn save_now(&self, position: &SavedPosition, set: &SaveSet) -> Result<(), StoreError> {
        let life = self.wait("save").await?;
        let mut content = self.shared.lock();
        check_life(&content, life, "save")?;
        let mut saved = content.saved.clone().unwrap_or_default();
        saved.records.extend(set.puts.iter().cloned());
        for key in &set.deletes {
            saved.records.remove(key);
        }
        saved.position = position.clone();
        content.saved = Some(saved);
        content.saves += 1;
        Ok(())
    }

    /// Lets a write take its time; returns the life in which it began.
    async fn wait(&self, operation: &'static str) -> Result<u64, StoreError> {
        let (life, takes, failing) = {
            let content = self.shared.lock();
            (content.life, content.save_takes, content.failing)
        };
        tokio::task::yield_now().await;
        if !takes.is_zero() {
            tokio::time::sleep(takes).await;
        }
        if failing {
            return Err(refused(operation, ErrorKind::Retry, "spoiled by the test"));
        }
        Ok(life)
    }
}

impl StateStore for MemoryStore {
    fn position(&self) -> BoxFuture<'_, Result<Option<SavedPosition>, StoreError>> {
        Box::pin(async move {
            Ok(self.shared.lock().saved.as_ref().map(|saved| saved.position.clone()))
        })
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Option<Box<dyn SavedSnapshot>>, StoreError>> {
        Box::pin(async move {
            let saved = self.shared.lock().saved.clone();
            Ok(saved.map(|saved| {
                let Saved { position, records } = saved;
                let records = records.into_iter();
                Box::new(MemorySnapshot { position, records }) as Box<dyn SavedSnapshot>
            }))
        })
    }

    fn save<'a>(
        &'a self,
        position: &'a SavedPosition,
        set: &'a SaveSet,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.save_now(position, set))
    }

    fn install(&self) -> BoxFuture<'_, Result<Box<dyn StateInstall>, StoreError>> {
        Box::pin(async move {
            let install = MemoryInstall { store: self.clone(), records: BTreeMap::new() };
            Ok(Box::new(install) as Box<dyn StateInstall>)
        })
    }
}

struct MemorySnapshot {
    position: SavedPosition,
    records: std::collections::btree_map::IntoIter<Vec<u8>, Vec<u8>>,
}

impl SavedSnapshot for MemorySnapshot {
    fn position(&self) -> &SavedPosition {
        &self.position
    }

    fn next_chunk(&mut self, bytes: usize) -> BoxFuture<'_, Result<Vec<SavedRecord>, StoreError>> {
        let mut taken = 0;
        let mut chunk = Vec::new();
        while taken < bytes
            && let Some(record) = self.records.next()
        {
            taken += record.0.len() + record.1.len();
            chunk.push(record);
        }
        Box::pin(async move { Ok(chunk) })
    }
}

struct MemoryInstall {
    store: MemoryStore,
    records: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl StateInstall for MemoryInstall {
    fn add(&mut self, records: Vec<SavedRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.store.wait("install").await?;
            self.records.extend(records);
            Ok(())
        })
    }

    fn finish(
        self: Box<Self>,
        position: SavedPosition,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            let life = self.store.wait("install").await?;
            let mut content = self.store.shared.lock();
            check_life(&content, life, "install")?;
            content.saved = Some(Saved { position, records: self.records });
            Ok(())
        })
    }
}

fn check_life(content: &Content, life: u64, operation: &'static str) -> Result<(), StoreError> {
    if content.life == life {
        Ok(())
    } else {
        Err(refused(operation, ErrorKind::Closed, "opened before the crash"))
    }
}

fn refused(operation: &'static str, kind: ErrorKind, reason: &str) -> StoreError {
    StoreError { operation, reason: reason.to_owned(), kind }
}
