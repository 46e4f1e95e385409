//! Reading log objects: from memory, from blocks read before, from the store.
//!
//! Tail reads are answered by the hot cache and wait for nothing. All else is a catch-up read: it
//! takes one of a few places at the store, reads whole blocks where a file is read densely, and
//! keeps those in a budget of its own.
//!
//! Invariants:
//! - What is read passed the check given at the making, if it came from the store: a failed check
//!   is tried once more from the store, then it is `Corrupt`. What is lent was not looked at.
//! - Nothing at or beyond `readable_up_to` is read or kept, except the bytes asked for: what lies
//!   there may not have been written yet.
//! - Memory: the hot cache's budget, the blocks' budget, and per place at the store one read.
//!
//! Not here: which file and position hold an offset (the projection), and setting batch heads.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use tidemill_base::{ErrorKind, FileId, FileRange};
use tokio::sync::Semaphore;

use crate::hot_cache::HotCache;
use crate::log_store::{SharedLogStore, StoreError};

mod block_cache;
mod counters;
mod read_ahead;

use block_cache::BlockCache;
pub use counters::ReadCounters;
pub use read_ahead::BLOCK_BYTES;
use read_ahead::{Piece, ReadAhead};

/// Judges bytes read from the store: whole batches, one after another. Says what is wrong.
pub type BatchCheck = fn(&[u8]) -> Result<(), String>;

/// A block of a file: which file, and its number from the file's start.
pub(crate) type BlockKey = (FileId, u64);

/// The settings of a log reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogReaderConfig {
    /// Memory for blocks read ahead. Default 32 MiB.
    pub blocks_bytes_max: u64,
    /// Reads at the store at once. Default 4.
    pub store_reads_max: usize,
    /// Shorter ranges are not lent: below this a copy costs less than asking the socket to take
    /// bytes from a file. Default 4 KiB.
    pub lent_bytes_min: usize,
}

impl Default for LogReaderConfig {
    fn default() -> Self {
        Self { blocks_bytes_max: 32 * 1024 * 1024, store_reads_max: 4, lent_bytes_min: 4096 }
    }
}

/// What to read: whole batches of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadRequest {
    /// The file or object.
    pub file: FileId,
    /// The first byte, counted from the file's start.
    pub position: u64,
    /// How many bytes.
    pub length: usize,
    /// The file's bytes before this one are committed and never change; reading ahead stops here. The
    /// end of the bytes asked for, if nothing more is known.
    pub readable_up_to: u64,
}

/// Reads log objects.
pub struct LogReader {
    hot: Arc<HotCache>,
    store: SharedLogStore,
    check: Option<BatchCheck>,
    read_ahead: Mutex<ReadAhead>,
    blocks: Mutex<BlockCache>,
    loading: Mutex<Turns>,
    places: Semaphore,
    lent_bytes_min: usize,
    counters: Arc<ReadCounters>,
}

/// Blocks being read, so that those who want the same one wait for it.
type Turns = BTreeMap<BlockKey, Arc<tokio::sync::Mutex<()>>>;

/// A wish to read a block, which ends with the wisher however that ends.
struct Turn<'a> {
    turns: &'a Mutex<Turns>,
    key: BlockKey,
    mine: Arc<tokio::sync::Mutex<()>>,
}

impl<'a> Turn<'a> {
    fn new(turns: &'a Mutex<Turns>, key: BlockKey) -> Self {
        let mine = Arc::clone(turns.lock().entry(key).or_default());
        Self { turns, key, mine }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.lock().remove(&self.key);
    }
}

impl LogReader {
    /// A reader of what `hot` and `store` hold. `check` judges what comes from the store.
    #[must_use]
    pub fn new(
        hot: Arc<HotCache>,
        store: SharedLogStore,
        check: Option<BatchCheck>,
        config: LogReaderConfig,
    ) -> Self {
        Self {
            hot,
            store,
            check,
            read_ahead: Mutex::default(),
            blocks: Mutex::new(BlockCache::new(config.blocks_bytes_max)),
            loading: Mutex::default(),
            places: Semaphore::new(config.store_reads_max.max(1)),
            lent_bytes_min: config.lent_bytes_min,
            counters: Arc::default(),
        }
    }

    /// What the reader counts.
    #[must_use]
    pub fn counters(&self) -> &Arc<ReadCounters> {
        &self.counters
    }

    /// Bytes of blocks in memory, of at most [`LogReaderConfig::blocks_bytes_max`].
    #[must_use]
    pub fn blocks_held_bytes(&self) -> u64 {
        self.blocks.lock().held_bytes()
    }

    /// The bytes, if the hot cache has them. Each slice is one batch or more, whole, as it was put
    /// in. Never waits.
    #[must_use]
    pub fn read_hot(&self, file: FileId, position: u64, length: usize) -> Option<Vec<Bytes>> {
        let slices = self.hot.get(file, position, length)?;
        self.counters.hot(length);
        Some(slices)
    }

    /// The bytes, from wherever they are. Each slice holds whole batches if the request names whole
    /// batches.
    ///
    /// # Errors
    /// `NotFound`: the file is gone; ask the metadata again. `Corrupt`: the bytes are damaged.
    /// Others are the store's.
    pub async fn read(&self, request: ReadRequest) -> Result<Vec<Bytes>, StoreError> {
        if let Some(slices) = self.read_hot(request.file, request.position, request.length) {
            return Ok(slices);
        }
        let bytes = self.read_cold(request).await?;
        Ok(vec![bytes])
    }

    /// Opens a file, so that it can be lent from.
    ///
    /// # Errors
    /// The store's.
    pub async fn open(&self, file: FileId) -> Result<(), StoreError> {
        self.store.open(file).await
    }

    /// Fills `buffer` from `position` of a file on if that takes no waiting, and says whether it did.
    /// Unchecked: the caller judges what it finds.
    #[must_use]
    pub fn peek(&self, file: FileId, position: u64, buffer: &mut [u8]) -> bool {
        self.store.peek(file, position, buffer)
    }

    /// The bytes as a range of an open file, if the system holds them in memory. Unchecked: whoever
    /// takes them from there has their checksums.
    #[must_use]
    pub fn lend(&self, file: FileId, position: u64, length: usize) -> Option<FileRange> {
        if length < self.lent_bytes_min {
            return None;
        }
        let range = self.store.lend(file, position, length)?;
        self.counters.lent(length);
        Some(range)
    }

    /// Drops what is kept of a file that was deleted.
    pub fn forget_file(&self, file: FileId) {
        self.hot.remove_file(file);
        self.blocks.lock().remove_file(file);
        self.read_ahead.lock().forget_file(file);
    }

    async fn read_cold(&self, request: ReadRequest) -> Result<Bytes, StoreError> {
        let bytes = self.read_planned(request).await?;
        let Err(reason) = self.judge(&bytes) else { return Ok(bytes) };
        // Memory may be bad as well as the disk: drop what is kept and look at the store again.
        ReadCounters::add(&self.counters.check_failures, 1);
        tracing::warn!(file = %request.file, position = request.position, %reason, "read again");
        self.blocks.lock().remove_file(request.file);
        let bytes = self.read_store(request.file, request.position, request.length).await?;
        match self.judge(&bytes) {
            Ok(()) => Ok(bytes),
            Err(reason) => {
                let what = request.file.to_string();
                let reason = format!("at {}: {reason}", request.position);
                Err(StoreError::new("read", what, ErrorKind::Corrupt, reason))
            }
        }
    }

    fn judge(&self, bytes: &[u8]) -> Result<(), String> {
        self.check.map_or(Ok(()), |check| check(bytes))
    }

    async fn read_planned(&self, request: ReadRequest) -> Result<Bytes, StoreError> {
        let pieces = self.read_ahead.lock().plan(request);
        if let [piece] = pieces[..] {
            return self.read_piece(request, piece).await;
        }
        let mut joined = BytesMut::with_capacity(request.length);
        for piece in pieces {
            joined.extend_from_slice(&self.read_piece(request, piece).await?);
        }
        Ok(joined.freeze())
    }

    async fn read_piece(&self, request: ReadRequest, piece: Piece) -> Result<Bytes, StoreError> {
        let key = (request.file, piece.block);
        if let Some(bytes) = self.blocks.lock().slice(key, piece.position, piece.length) {
            self.counters.block(piece.length);
            return Ok(bytes);
        }
        let Some((start, length)) = piece.whole_block else {
            return self.read_store(request.file, piece.position, piece.length).await;
        };
        let turn = Turn::new(&self.loading, key);
        let _guard = turn.mine.lock().await;
        if let Some(bytes) = self.blocks.lock().slice(key, piece.position, piece.length) {
            self.counters.block(piece.length);
            return Ok(bytes);
        }
        let block = self.read_store(request.file, start, length).await?;
        self.blocks.lock().insert(key, start, block.clone());
        let from = (piece.position - start) as usize;
        Ok(block_cache::own_slice(&block, from, piece.length))
    }

    async fn read_store(
        &self,
        file: FileId,
        position: u64,
        length: usize,
    ) -> Result<Bytes, StoreError> {
        let _place = self.places.acquire().await.map_err(|_| {
            StoreError::new("read", file.to_string(), ErrorKind::Closed, "the reader is closed")
        })?;
        let bytes = self.store.read(file, position, length).await?;
        self.counters.store(length);
        Ok(bytes)
    }
}

#[cfg(test)]
mod log_reader_test;
