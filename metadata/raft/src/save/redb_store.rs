//! Saved state in a redb file (docs/decisions: redb for written-behind state).
//!
//! The file is `meta/state.redb` in the data directory, an install goes to `meta/state.redb.new`.
//! Commits use redb's two-phase mode with "quick repair", so that opening after a crash costs
//! nothing that grows with the state. After an error the file is opened anew: redb refuses further
//! work on a database that met an I/O error. A file that is not what redb wrote is `Corrupt`, also
//! where redb panics over it: it trusts pages more than it should.

use std::fs;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use redb::{
    Builder, Database, Durability, ReadTransaction, ReadableDatabase, Table, TableDefinition,
    WriteTransaction,
};
use tidemill_base::ErrorKind;
use tidemill_base::ports::BoxFuture;
use tidemill_metadata_state::SaveSet;

use crate::error::StoreError;
use crate::save::state_store::{
    SavedPosition, SavedRecord, SavedSnapshot, StateInstall, StateStore,
};

mod position_record;

#[cfg(test)]
mod tests;

const STATE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("state");
const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");

/// The key of the position in `META`.
const POSITION: &str = "position";

/// Memory for pages of the saved state. The state itself is in our own memory; redb only needs what a
/// save touches.
pub const STATE_CACHE_BYTES: u64 = 8 << 20;

/// The redb adapter of [`StateStore`]. Every method blocks in place.
#[derive(Clone)]
pub struct RedbStore {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    database: Mutex<Option<Arc<Database>>>,
}

impl RedbStore {
    /// A store within `data_directory`. Nothing is opened before the first call.
    #[must_use]
    pub fn new(data_directory: &Path) -> Self {
        let path = data_directory.join("meta").join("state.redb");
        Self { shared: Arc::new(Shared { path, database: Mutex::new(None) }) }
    }
}

impl Shared {
    fn new_path(&self) -> PathBuf {
        self.path.with_extension("redb.new")
    }

    /// The open database.
    fn database(&self) -> Result<Arc<Database>, StoreError> {
        let mut database = self.database.lock();
        if let Some(database) = &*database {
            return Ok(Arc::clone(database));
        }
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).map_err(|error| failed("create directory", error))?;
        }
        let opened = unless_it_panics("open", || open(&self.path))
            .map_err(|error| error.in_file(&self.path))?;
        let opened = Arc::new(opened);
        *database = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Runs `work`; if it fails, the next call opens the file anew.
    fn run<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = self.database()?;
        let result = unless_it_panics("read or write", || work(&database))
            .map_err(|error| error.in_file(&self.path));
        if result.is_err() {
            *self.database.lock() = None;
        }
        result
    }

    fn save(&self, position: &SavedPosition, set: &SaveSet) -> Result<(), StoreError> {
        self.run(|database| {
            write(database, position, |state| {
                for (key, value) in &set.puts {
                    state.insert(&key[..], &value[..]).map_err(|error| failed("save", error))?;
                }
                for key in &set.deletes {
                    state.remove(&key[..]).map_err(|error| failed("save", error))?;
                }
                Ok(())
            })
        })
    }

    fn snapshot(&self) -> Result<Option<Box<dyn SavedSnapshot>>, StoreError> {
        self.run(|database| {
            let transaction = database.begin_read().map_err(|error| failed("load", error))?;
            let Some(position) = read_position(&transaction)? else { return Ok(None) };
            let path = self.path.clone();
            let snapshot = RedbSnapshot { path, transaction, position, after: None };
            Ok(Some(Box::new(snapshot) as Box<dyn SavedSnapshot>))
        })
    }

    fn begin_install(self: &Arc<Self>) -> Result<Box<dyn StateInstall>, StoreError> {
        let path = self.new_path();
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(|error| failed("create directory", error))?;
        }
        remove_if_there(&path)?;
        let database = open(&path)?;
        Ok(Box::new(RedbInstall { shared: Arc::clone(self), database }))
    }

    /// Moves a finished new file into place.
    fn replace(&self) -> Result<(), StoreError> {
        let mut database = self.database.lock();
        *database = None;
        fs::rename(self.new_path(), &self.path).map_err(|error| failed("rename", error))?;
        let directory = self.path.parent().unwrap_or(Path::new("."));
        fs::File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| failed("sync directory", error))
    }
}

impl StateStore for RedbStore {
    fn position(&self) -> BoxFuture<'_, Result<Option<SavedPosition>, StoreError>> {
        Box::pin(async move {
            self.shared.run(|database| {
                let transaction = database.begin_read().map_err(|error| failed("load", error))?;
                read_position(&transaction)
            })
        })
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Option<Box<dyn SavedSnapshot>>, StoreError>> {
        Box::pin(async move { self.shared.snapshot() })
    }

    fn save<'a>(
        &'a self,
        position: &'a SavedPosition,
        set: &'a SaveSet,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.shared.save(position, set) })
    }

    fn install(&self) -> BoxFuture<'_, Result<Box<dyn StateInstall>, StoreError>> {
        Box::pin(async move { self.shared.begin_install() })
    }
}

struct RedbSnapshot {
    path: PathBuf,
    transaction: ReadTransaction,
    position: SavedPosition,
    after: Option<Vec<u8>>,
}

impl RedbSnapshot {
    fn read_chunk(&mut self, bytes: usize) -> Result<Vec<SavedRecord>, StoreError> {
        let load = |error: redb::Error| failed("load", error);
        let state = match self.transaction.open_table(STATE) {
            Ok(state) => state,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(load(error.into())),
        };
        let after = self.after.clone();
        let lower = after.as_ref().map_or(Bound::Unbounded, |key| Bound::Excluded(&key[..]));
        let range =
            state.range::<&[u8]>((lower, Bound::Unbounded)).map_err(|error| load(error.into()))?;
        let mut records = Vec::new();
        let mut taken = 0;
        for record in range {
            let (key, value) = record.map_err(|error| load(error.into()))?;
            let record = (key.value().to_vec(), value.value().to_vec());
            taken += record.0.len() + record.1.len();
            records.push(record);
            if taken >= bytes {
                break;
            }
        }
        if let Some((key, _)) = records.last() {
            self.after = Some(key.clone());
        }
        Ok(records)
    }
}

impl SavedSnapshot for RedbSnapshot {
    fn position(&self) -> &SavedPosition {
        &self.position
    }

    fn next_chunk(&mut self, bytes: usize) -> BoxFuture<'_, Result<Vec<SavedRecord>, StoreError>> {
        Box::pin(async move {
            unless_it_panics("load", || self.read_chunk(bytes))
                .map_err(|error| error.in_file(&self.path))
        })
    }
}

struct RedbInstall {
    shared: Arc<Shared>,
    database: Database,
}

impl RedbInstall {
    fn add_now(&self, records: &[SavedRecord]) -> Result<(), StoreError> {
        let transaction = begin_write(&self.database)?;
        {
            let mut state =
                transaction.open_table(STATE).map_err(|error| failed("install", error))?;
            for (key, value) in records {
                state.insert(&key[..], &value[..]).map_err(|error| failed("install", error))?;
            }
        }
        transaction.commit().map_err(|error| failed("install", error))
    }
}

impl StateInstall for RedbInstall {
    fn add(&mut self, records: Vec<SavedRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.add_now(&records) })
    }

    fn finish(
        self: Box<Self>,
        position: SavedPosition,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            write(&self.database, &position, |_| Ok(()))?;
            let Self { shared, database } = *self;
            drop(database);
            shared.replace()
        })
    }
}

fn open(path: &Path) -> Result<Database, StoreError> {
    Builder::new()
        .set_cache_size(STATE_CACHE_BYTES as usize)
        .create(path)
        .map_err(|error| failed("open", redb::Error::from(error)))
}

fn begin_write(database: &Database) -> Result<WriteTransaction, StoreError> {
    let mut transaction = database.begin_write().map_err(|error| failed("save", error))?;
    transaction
        .set_durability(Durability::Immediate)
        .map_err(|error| failed("save", redb::Error::from(error)))?;
    transaction.set_quick_repair(true);
    Ok(transaction)
}

fn write(
    database: &Database,
    position: &SavedPosition,
    change: impl FnOnce(&mut Table<'_, &[u8], &[u8]>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let transaction = begin_write(database)?;
    {
        let mut state = transaction.open_table(STATE).map_err(|error| failed("save", error))?;
        change(&mut state)?;
        let mut meta = transaction.open_table(META).map_err(|error| failed("save", error))?;
        let record = position_record::encode(position);
        meta.insert(POSITION, &record[..]).map_err(|error| failed("save", error))?;
    }
    transaction.commit().map_err(|error| failed("save", error))
}

fn read_position(transaction: &ReadTransaction) -> Result<Option<SavedPosition>, StoreError> {
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(failed("load", error)),
    };
    let Some(record) = meta.get(POSITION).map_err(|error| failed("load", error))? else {
        return Ok(None);
    };
    position_record::decode(record.value()).map(Some)
}

fn remove_if_there(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", error)),
        _ => Ok(()),
    }
}

/// Whether an I/O error tells of bytes that are not there or not redb's, and not of the disk.
fn is_damage(kind: std::io::ErrorKind) -> bool {
    matches!(kind, std::io::ErrorKind::InvalidData | std::io::ErrorKind::UnexpectedEof)
}

/// Runs `work`. Over pages that are damaged redb panics here and there; nothing of ours is changed by
/// then, and the database is not used again.
fn unless_it_panics<T>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let reason = "its pages contradict each other".to_owned();
        Err(StoreError { operation, reason, kind: ErrorKind::Corrupt })
    })
}

fn failed(operation: &'static str, error: impl Into<redb::Error>) -> StoreError {
    let error = error.into();
    let kind = match &error {
        redb::Error::Corrupted(_)
        | redb::Error::UpgradeRequired(_)
        | redb::Error::TableTypeMismatch { .. } => ErrorKind::Corrupt,
        redb::Error::Io(error) if is_damage(error.kind()) => ErrorKind::Corrupt,
        redb::Error::DatabaseAlreadyOpen => ErrorKind::Denied,
        _ => ErrorKind::Retry,
    };
    StoreError { operation, reason: error.to_string(), kind }
}
