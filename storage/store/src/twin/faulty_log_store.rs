//! A log store that passes calls on to another one and spoils some of them.
//!
//! Deterministic: the same calls under the same toxics and seed do the same. A toxic's target is
//! matched against the object's or file's name as displayed.

use std::time::Duration;

use bytes::Bytes;
use tidemill_appendfile::twin::Toxics;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{ErrorKind, FileId, LaneKey, Location, ObjectId};

use crate::log_store::{LogStore, Shape, SharedLogStore, StoreError, StoredFile};

/// What a toxic does to a log store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreToxic {
    /// A put fails and nothing lands.
    FailPut,
    /// A put lands, and its answer is lost.
    LosePutAnswer,
    /// A put fails for want of room.
    Full,
    /// A put begins this much later.
    DelayPut {
        /// How much.
        delay_ms: u64,
    },
    /// The answer to a put comes this much later.
    DelayPutAnswer {
        /// How much.
        delay_ms: u64,
    },
    /// A read fails.
    FailRead,
    /// A read finds nothing, as when the object was rewritten elsewhere.
    ReadNotFound,
    /// A read takes this much longer.
    DelayRead {
        /// How much.
        delay_ms: u64,
    },
    /// A delete fails.
    FailDelete,
    /// A listing fails.
    FailList,
}

/// A log store under toxics.
pub struct FaultyLogStore {
    inner: SharedLogStore,
    toxics: Toxics<StoreToxic>,
}

/// What the toxics say about one put, thrown when it is called.
struct PutFate {
    delay_ms: u64,
    answer_delay_ms: u64,
    failure: Option<StoreToxic>,
}

impl FaultyLogStore {
    /// Decorates `inner`. The caller keeps a clone of `toxics` to change them.
    #[must_use]
    pub fn new(inner: SharedLogStore, toxics: Toxics<StoreToxic>) -> Self {
        Self { inner, toxics }
    }

    fn put_fate(&self, object: &str) -> PutFate {
        use StoreToxic::{DelayPut, DelayPutAnswer, FailPut, Full, LosePutAnswer};
        let kinds = self.toxics.strike(object, |kind| {
            matches!(kind, FailPut | LosePutAnswer | Full | DelayPut { .. } | DelayPutAnswer { .. })
        });
        let mut fate = PutFate { delay_ms: 0, answer_delay_ms: 0, failure: None };
        for kind in kinds {
            match kind {
                DelayPut { delay_ms } => fate.delay_ms += delay_ms,
                DelayPutAnswer { delay_ms } => fate.answer_delay_ms += delay_ms,
                failure => fate.failure = fate.failure.or(Some(failure)),
            }
        }
        fate
    }

    fn strikes(&self, what: &str, toxic: StoreToxic) -> bool {
        !self.toxics.strike(what, |kind| *kind == toxic).is_empty()
    }
}

impl LogStore for FaultyLogStore {
    fn shape(&self) -> Shape {
        self.inner.shape()
    }

    fn put(
        &self,
        object: ObjectId,
        parts: Vec<Bytes>,
    ) -> BoxFuture<'_, Result<Location, StoreError>> {
        let what = object.to_string();
        let fate = self.put_fate(&what);
        // Where nothing delays it, the put is passed on at once, so that the order of calls is kept.
        let put = match (fate.failure, fate.delay_ms) {
            (Some(StoreToxic::FailPut | StoreToxic::Full), _) => None,
            (_, 0) => Some(self.inner.put(object, parts)),
            (_, delay_ms) => Some(Box::pin(async move {
                wait(delay_ms).await;
                self.inner.put(object, parts).await
            }) as BoxFuture<'_, _>),
        };
        Box::pin(async move {
            let result = match put {
                Some(put) => put.await,
                None => {
                    wait(fate.delay_ms).await;
                    Err(spoiled("put", &what, ErrorKind::Retry))
                }
            };
            wait(fate.answer_delay_ms).await;
            match fate.failure {
                Some(StoreToxic::Full) => {
                    result.map_err(|error| StoreError { full: true, ..error })
                }
                Some(StoreToxic::LosePutAnswer) => Err(spoiled("put", &what, ErrorKind::Ambiguous)),
                _ => result,
            }
        })
    }

    fn abandon_file(&self, lane: LaneKey) {
        self.inner.abandon_file(lane);
    }

    fn read(
        &self,
        file: FileId,
        position: u64,
        length: usize,
    ) -> BoxFuture<'_, Result<Bytes, StoreError>> {
        Box::pin(async move {
            let what = file.to_string();
            let delays =
                self.toxics.strike(&what, |kind| matches!(kind, StoreToxic::DelayRead { .. }));
            for delay in delays {
                if let StoreToxic::DelayRead { delay_ms } = delay {
                    wait(delay_ms).await;
                }
            }
            if self.strikes(&what, StoreToxic::FailRead) {
                return Err(spoiled("read", &what, ErrorKind::Retry));
            }
            if self.strikes(&what, StoreToxic::ReadNotFound) {
                return Err(spoiled("read", &what, ErrorKind::NotFound));
            }
            self.inner.read(file, position, length).await
        })
    }

    fn delete(&self, file: FileId) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let what = file.to_string();
            if self.strikes(&what, StoreToxic::FailDelete) {
                return Err(spoiled("delete", &what, ErrorKind::Ambiguous));
            }
            self.inner.delete(file).await
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<StoredFile>, StoreError>> {
        Box::pin(async move {
            if self.strikes("", StoreToxic::FailList) {
                return Err(spoiled("list", "", ErrorKind::Retry));
            }
            self.inner.list().await
        })
    }

    fn free_bytes(&self) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        self.inner.free_bytes()
    }
}

fn spoiled(operation: &'static str, what: &str, kind: ErrorKind) -> StoreError {
    StoreError::new(operation, what, kind, "spoiled by a toxic")
}

async fn wait(delay_ms: u64) {
    if delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
}

#[cfg(test)]
mod faulty_log_store_test;
