//! The bytes of extents, and the extents of folded entries: from memory, or from the store with
//! their checksums verified.

use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::digest::ExtentFacts;
use tidemill_base::{ErrorKind, FileId, Location, Offset, PartitionId};
use tidemill_kafka::ErrorCode;
use tidemill_metadata_state::{Extent, Folded};
use tidemill_records::{BatchView, RecordsError};
use tidemill_storage_format::index_object::FIXED_HEADER_BYTES;
use tidemill_storage_format::{FormatError, IndexBlock, IndexDirectory, IndexRun};
use tidemill_storage_store::{LogReader, ReadRequest, SharedObjects, StoreError};

use crate::byte_cache::ByteCache;
use crate::lending::{self, Lending, Wanted};

/// Why bytes could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store did not give them.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored is not a batch.
    #[error("stored batch: {0}")]
    Batch(RecordsError),
    /// What is stored is not an index object, or not the one that was written.
    #[error("index object: {0}")]
    Index(#[from] FormatError),
    /// The index object does not list the run that it was written for.
    #[error("index object {0} does not list the partition")]
    RunMissing(FileId),
}

impl ReadError {
    /// The code that tells the client.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        tracing::warn!(error = %self, "records cannot be read");
        ErrorCode::KAFKA_STORAGE_ERROR
    }

    /// What the caller may do. `NotFound`: ask the metadata again.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind,
            Self::Batch(_) | Self::Index(_) | Self::RunMissing(_) => ErrorKind::Corrupt,
        }
    }
}

/// Where bytes come from.
#[derive(Clone)]
pub struct LogBytes {
    reader: Arc<LogReader>,
    objects: SharedObjects,
    directories: Arc<ByteCache<FileId, IndexDirectory>>,
    blocks: Arc<ByteCache<(FileId, u32), IndexBlock>>,
}

/// Judges bytes read from the store: whole batches, each with its checksum.
///
/// # Errors
/// What is wrong, for people.
pub fn check_batches(mut bytes: &[u8]) -> Result<(), String> {
    while !bytes.is_empty() {
        let (batch, rest) = BatchView::parse_prefix(bytes).map_err(|error| error.to_string())?;
        batch.verify_crc().map_err(|error| error.to_string())?;
        bytes = rest;
    }
    Ok(())
}

impl LogBytes {
    /// Bytes through `reader`, index objects from `objects`, of which `index_cache_bytes` of
    /// directories and blocks are kept.
    #[must_use]
    pub fn new(reader: Arc<LogReader>, objects: SharedObjects, index_cache_bytes: u64) -> Self {
        let half = usize::try_from(index_cache_bytes / 2).unwrap_or(usize::MAX);
        Self {
            reader,
            objects,
            directories: Arc::new(ByteCache::new(half)),
            blocks: Arc::new(ByteCache::new(half)),
        }
    }

    /// Bytes of directories and blocks of index objects in memory.
    #[must_use]
    pub fn index_cache_bytes(&self) -> u64 {
        self.directories.held_bytes() + self.blocks.held_bytes()
    }

    /// Bytes in memory that were read for consumers that lag.
    #[must_use]
    pub fn catch_up_read_bytes(&self) -> u64 {
        self.reader.blocks_held_bytes()
    }

    /// The bytes of an extent if they are in memory, in pieces of whole batches.
    #[must_use]
    pub fn in_memory(&self, extent: &Extent) -> Option<Vec<Bytes>> {
        self.reader.read_hot(extent.file, extent.position, extent.length as usize)
    }

    /// The batches wanted of an extent as a range of its file, if they may be sent from there.
    pub(crate) fn lend(&self, extent: &Extent, wanted: Wanted) -> Lending {
        lending::lend(&self.reader, extent, wanted)
    }

    /// Opens the file of an extent, so that it can be lent from.
    pub(crate) async fn open(&self, extent: &Extent) -> Result<(), ReadError> {
        Ok(self.reader.open(extent.file).await?)
    }

    /// The bytes of an extent from wherever they are, checksums verified. `readable_up_to` bounds
    /// reading ahead: the end of what is committed in the file.
    ///
    /// # Errors
    /// The store's, or that what is stored is damaged.
    pub async fn read(
        &self,
        extent: &Extent,
        readable_up_to: u64,
    ) -> Result<Vec<Bytes>, ReadError> {
        let end = extent.position + u64::from(extent.length);
        let request = ReadRequest {
            file: extent.file,
            position: extent.position,
            length: extent.length as usize,
            readable_up_to: readable_up_to.max(end),
        };
        Ok(self.reader.read(request).await?)
    }

    /// The extents of a folded entry from the one that holds `from` on, until `bytes` or
    /// `extents_max` are reached.
    ///
    /// # Errors
    /// The index object cannot be read, or is damaged.
    pub async fn unfold(
        &self,
        partition: PartitionId,
        folded: &Folded,
        from: Offset,
        bytes: u64,
        extents_max: usize,
    ) -> Result<Vec<Extent>, ReadError> {
        let directory = self.directory(&folded.index).await?;
        let from = from.max(folded.base_offset);
        let run =
            directory.find(partition, from).ok_or(ReadError::RunMissing(folded.index.file))?;
        let block = self.block(&folded.index, run).await?;
        let first = block.find(from).unwrap_or(0);
        let mut extents = Vec::new();
        let mut found = 0;
        for facts in (first..block.extent_count()).filter_map(|index| block.get(index)) {
            if extents.len() >= extents_max || (found >= bytes && !extents.is_empty()) {
                break;
            }
            found += u64::from(facts.length);
            extents.push(extent(folded.file, &facts));
        }
        Ok(extents)
    }

    async fn directory(&self, index: &Location) -> Result<Arc<IndexDirectory>, ReadError> {
        if let Some(directory) = self.directories.get(index.file) {
            return Ok(directory);
        }
        let read = |length| self.objects.read(index.file, index.position, length);
        let beginning = read(FIXED_HEADER_BYTES.min(index.length as usize)).await?;
        let needed = IndexDirectory::bytes_needed(&beginning)?.min(index.length) as usize;
        let directory = IndexDirectory::decode(&read(needed).await?)?;
        Ok(self.directories.insert(index.file, directory, needed))
    }

    async fn block(&self, index: &Location, run: &IndexRun) -> Result<Arc<IndexBlock>, ReadError> {
        let key = (index.file, run.block_position);
        if let Some(block) = self.blocks.get(key) {
            return Ok(block);
        }
        let range = run.block_range();
        let length = (range.end - range.start) as usize;
        let bytes = self.objects.read(index.file, index.position + range.start, length).await?;
        let block = IndexBlock::decode(run, bytes)?;
        Ok(self.blocks.insert(key, block, length))
    }
}

fn extent(file: FileId, facts: &ExtentFacts) -> Extent {
    Extent {
        file,
        position: facts.position,
        length: facts.length,
        base_offset: facts.base_offset,
        record_count: facts.record_count,
        max_timestamp: facts.max_timestamp,
        leader_epoch: facts.leader_epoch,
    }
}
