//! The link between the lanes and the metadata, which loses and delays messages.
//!
//! In one process nothing is lost; in a cluster this is a network. The lane must cope with either.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidemill_base::FileId;
use tidemill_base::ports::BoxFuture;
use tidemill_storage_lane::CommitAnswer;
use tidemill_storage_store::{Commits, ObjectCommit};

use super::chance::Chance;

/// How often messages are lost or delayed, in a million; shared with the faults of the run.
#[derive(Clone, Debug, Default)]
pub struct LossRates {
    /// The request arrives, the answer does not.
    pub answer_lost: Arc<AtomicU32>,
    /// The request does not arrive.
    pub request_lost: Arc<AtomicU32>,
    /// The request arrives late, after younger ones.
    pub request_late: Arc<AtomicU32>,
}

impl LossRates {
    /// Sets all three.
    pub fn set(&self, answer_lost: u32, request_lost: u32, request_late: u32) {
        self.answer_lost.store(answer_lost, Ordering::Relaxed);
        self.request_lost.store(request_lost, Ordering::Relaxed);
        self.request_late.store(request_late, Ordering::Relaxed);
    }
}

/// Commits over a link that loses messages.
pub struct LossyCommits {
    /// Where messages go.
    pub inner: Arc<dyn Commits>,
    /// How often they are lost.
    pub rates: LossRates,
    /// Which ones.
    pub chance: Chance,
}

impl Commits for LossyCommits {
    fn commit(&self, commit: ObjectCommit) -> BoxFuture<'static, CommitAnswer> {
        let hits = |rate: &AtomicU32| self.chance.hits(rate.load(Ordering::Relaxed));
        let wait = Duration::from_millis(self.chance.between(1, 30));
        if hits(&self.rates.request_lost) {
            return Box::pin(async move {
                tokio::time::sleep(wait).await;
                CommitAnswer::Ambiguous
            });
        }
        if hits(&self.rates.request_late) {
            let inner = Arc::clone(&self.inner);
            return Box::pin(async move {
                tokio::time::sleep(wait).await;
                inner.commit(commit).await
            });
        }
        let loses_answer = hits(&self.rates.answer_lost);
        let answer = self.inner.commit(commit);
        Box::pin(async move {
            let answer = answer.await;
            match loses_answer {
                true => {
                    tokio::time::sleep(wait).await;
                    CommitAnswer::Ambiguous
                }
                false => answer,
            }
        })
    }

    fn file_sealed(&self, file: FileId, length: u64) {
        self.inner.file_sealed(file, length);
    }

    fn fenced(&self) {
        self.inner.fenced();
    }
}
