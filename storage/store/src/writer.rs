//! The log writer: carries out what a lane decides.
//!
//! One task per lane. Submissions come in over a bounded queue; the task groups their batches by
//! partition into log objects, puts them into the store, proposes them through [`Commits`] and
//! answers each submission once all its batches are decided. No lock is held across an await and
//! nothing is copied: record bytes travel as slices of the frames they came in.
//!
//! Not here: when to seal, retry or give up (`storage/lane`).

mod heads;
mod object;
mod pipeline;
mod sealed_files;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tidemill_base::ports::BoxFuture;
use tidemill_base::{BatchFacts, FileId, LaneKey, LaneSequence, Location, ObjectId};
use tidemill_storage_lane::{BatchAnswer, CommitAnswer, LaneClosed, LaneLimits};
use tokio::sync::{mpsc, oneshot};

pub use self::heads::{LogEnd, LogEnds};
use crate::hot_cache::HotCache;
use crate::log_store::SharedLogStore;

/// Submissions that may wait between the connections and the lane's task.
const INBOX_SUBMISSIONS_MAX: usize = 16_384;

/// A batch that the broker admitted: what the metadata needs to know, and its bytes.
#[derive(Clone, Debug)]
pub struct AdmittedBatch {
    /// Its facts; `position` is set when the object is built.
    pub facts: BatchFacts,
    /// The whole batch, head included.
    pub bytes: Bytes,
}

/// A log object to be committed.
#[derive(Clone, Debug)]
pub struct ObjectCommit {
    /// Which object.
    pub object: ObjectId,
    /// Where it lies.
    pub location: Location,
    /// The sequences right before it that were given up.
    pub skips: Vec<LaneSequence>,
    /// Every outcome up to this one has been received.
    pub outcomes_received_up_to: LaneSequence,
    /// Its batches, in the object's order.
    pub batches: Vec<BatchFacts>,
}

/// The port to whatever decides about commits.
pub trait Commits: Send + Sync + 'static {
    /// Proposes an object. Calls are taken in order before the future is first polled.
    fn commit(&self, commit: ObjectCommit) -> BoxFuture<'static, CommitAnswer>;

    /// Tells that no further object will be proposed in `file`, whose objects end at `length`.
    fn file_sealed(&self, file: FileId, length: u64);

    /// Tells that the lane's registration is void.
    fn fenced(&self);
}

/// What a log writer counts. Plain counters, read by the metrics page.
#[derive(Debug, Default)]
pub struct WriterCounters {
    /// Objects sealed.
    pub objects: AtomicU64,
    /// Bytes of sealed objects, headers included.
    pub object_bytes: AtomicU64,
    /// Batches in sealed objects.
    pub batches: AtomicU64,
    /// Records of batches that were committed; a batch sent again counts once.
    pub records: AtomicU64,
    /// Puts started, first tries and others.
    pub puts: AtomicU64,
    /// Puts that failed.
    pub put_failures: AtomicU64,
    /// Times a file was abandoned because a put was slow.
    pub failovers: AtomicU64,
    /// Sequences named as skips.
    pub skips: AtomicU64,
    /// Proposals answered with a gap.
    pub gaps: AtomicU64,
    /// Proposals that the metadata was already past: must stay 0, or the two have lost step.
    pub out_of_step: AtomicU64,
    /// Proposals whose answer was lost and asked for again.
    pub ambiguous: AtomicU64,
    /// Microseconds from seal to durable, summed over objects.
    pub put_micros: AtomicU64,
    /// Microseconds from proposal to answer, summed over objects.
    pub commit_micros: AtomicU64,
}

impl WriterCounters {
    pub(crate) fn add(counter: &AtomicU64, value: u64) {
        counter.fetch_add(value, Ordering::Relaxed);
    }
}

/// What a log writer works with.
#[derive(Clone)]
pub struct WriterParts {
    /// The lane it writes.
    pub lane: LaneKey,
    /// The life of the cluster.
    pub incarnation: tidemill_base::Incarnation,
    /// Its bounds.
    pub limits: LaneLimits,
    /// Where objects become durable.
    pub store: SharedLogStore,
    /// Who decides about commits.
    pub commits: Arc<dyn Commits>,
    /// Who knows where partitions end.
    pub ends: Arc<dyn LogEnds>,
    /// Where recent objects stay readable without the store.
    pub cache: Arc<HotCache>,
    /// What it counts.
    pub counters: Arc<WriterCounters>,
}

/// Something that is held while batches are under way, such as a share of a budget.
pub type Kept = Arc<dyn Any + Send + Sync>;

pub(crate) struct Submission {
    pub(crate) batches: Vec<AdmittedBatch>,
    /// Dropped when the submission is answered.
    pub(crate) kept: Option<Kept>,
    pub(crate) done: oneshot::Sender<Vec<BatchAnswer>>,
}

/// The way into a lane. Cheap to clone.
#[derive(Clone)]
pub struct LogWriter {
    inbox: mpsc::Sender<Submission>,
}

impl LogWriter {
    /// A writer, and the task that has to be spawned for it to work.
    ///
    /// The task ends when every `LogWriter` of it is dropped and all that was submitted is answered,
    /// or when the lane is fenced.
    #[must_use]
    pub fn new(parts: WriterParts) -> (Self, BoxFuture<'static, ()>) {
        let (inbox, submissions) = mpsc::channel(INBOX_SUBMISSIONS_MAX);
        let pipeline = pipeline::Pipeline::new(parts, submissions);
        (Self { inbox }, Box::pin(pipeline.run()))
    }

    /// Whether nothing more is taken, since the lane is fenced.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inbox.is_closed()
    }

    /// Submits the batches of one request. The receiver yields one answer per batch, in the order
    /// given; if it is closed without an answer, what happened is not known.
    ///
    /// # Errors
    /// [`LaneClosed`] says that nothing was taken.
    pub fn submit(
        &self,
        batches: Vec<AdmittedBatch>,
    ) -> Result<oneshot::Receiver<Vec<BatchAnswer>>, LaneClosed> {
        self.submit_keeping(batches, None)
    }

    /// Like [`LogWriter::submit`], and `kept` is dropped when the batches are decided, whether or not
    /// anybody takes the answers.
    ///
    /// # Errors
    /// [`LaneClosed`] says that nothing was taken.
    pub fn submit_keeping(
        &self,
        batches: Vec<AdmittedBatch>,
        kept: Option<Kept>,
    ) -> Result<oneshot::Receiver<Vec<BatchAnswer>>, LaneClosed> {
        let (done, answers) = oneshot::channel();
        match self.inbox.try_send(Submission { batches, kept, done }) {
            Ok(()) => Ok(answers),
            Err(mpsc::error::TrySendError::Full(_)) => Err(LaneClosed::Full),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(LaneClosed::Closed),
        }
    }
}
