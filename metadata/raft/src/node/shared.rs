//! What the loop, the handles and the saver share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tidemill_base::ports::SharedClock;
use tidemill_base::{AppliedIndex, TimestampMs};
use tidemill_metadata_state::MetadataState;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::budget::ProposalBudget;
use crate::leader_clock::LeaderClock;
use crate::metrics::{self, RaftMetrics};
use crate::options::RaftOptions;
use crate::watch::WatchHub;

/// Shared by everyone who holds a handle. Locks are held for short, never across an await.
pub(crate) struct Shared {
    /// Written by the loop alone, for one chunk of entries at a time.
    pub(crate) state: RwLock<MetadataState>,
    pub(crate) applied: watch::Sender<AppliedIndex>,
    pub(crate) metrics: Arc<RaftMetrics>,
    pub(crate) budget: Arc<ProposalBudget>,
    pub(crate) hub: WatchHub,
    /// Whether this member is the whole quorum and leads it: then what is applied here is current.
    pub(crate) leads_alone: AtomicBool,
    /// Whether saves are held back, for tests and benchmarks.
    pub(crate) saves_held_back: AtomicBool,
    /// Bytes of commands applied, replay included.
    pub(crate) applied_bytes: AtomicU64,
    /// Those of them whose changes are saved.
    pub(crate) saved_bytes: AtomicU64,
    /// From how many bytes on that are not saved a save is begun at once.
    pub(crate) state_save_bytes: u64,
    clock: Mutex<LeaderClock>,
    wall: SharedClock,
    began: Instant,
    closing: watch::Sender<bool>,
}

impl Shared {
    pub(crate) fn new(
        state: MetadataState,
        options: &RaftOptions,
        wall: SharedClock,
        metrics: Arc<RaftMetrics>,
    ) -> Self {
        let skew_ms = i64::try_from(options.clock_skew_max.as_millis()).unwrap_or(i64::MAX);
        let clock = LeaderClock::new(0, wall.now(), state.time(), skew_ms);
        let hub =
            WatchHub::new(options.watch_messages_max, options.watchers_max, Arc::clone(&metrics));
        let budget =
            ProposalBudget::new(options.proposals_pending_max, options.proposal_bytes_pending_max);
        Self {
            applied: watch::Sender::new(state.applied_index()),
            state: RwLock::new(state),
            metrics,
            budget,
            hub,
            leads_alone: AtomicBool::new(false),
            saves_held_back: AtomicBool::new(options.state_saves_held_back),
            applied_bytes: AtomicU64::new(0),
            saved_bytes: AtomicU64::new(0),
            state_save_bytes: options.state_save_bytes,
            clock: Mutex::new(clock),
            wall,
            began: Instant::now(),
            closing: watch::Sender::new(false),
        }
    }

    /// The time to stamp into a command now.
    pub(crate) fn stamp(&self) -> TimestampMs {
        let monotonic_ms = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        let wall = self.wall.now();
        let (stamp, stands_still) = {
            let mut clock = self.clock.lock();
            (clock.stamp(monotonic_ms, wall), clock.stands_still())
        };
        metrics::set(&self.metrics.time_stands_still, u64::from(stands_still));
        stamp
    }

    /// Whether the wall clock is not believed now.
    pub(crate) fn time_stands_still(&self) -> bool {
        self.stamp();
        self.metrics.time_stands_still.load(Ordering::Relaxed) != 0
    }

    /// Bytes of applied commands whose changes are not saved.
    pub(crate) fn unsaved_bytes(&self) -> u64 {
        let saved = self.saved_bytes.load(Ordering::Relaxed);
        self.applied_bytes.load(Ordering::Relaxed).saturating_sub(saved)
    }

    /// Asks the loop to end.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Whether the loop was asked to end.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Returns once the loop is asked to end.
    pub(crate) async fn closing(&self) {
        // An error means that the sender is gone, which is a field of `self`: it cannot be.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// Waits; returns whether the loop is asked to end.
    pub(crate) async fn wait_or_closing(&self, wait: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.closing() => true,
            () = tokio::time::sleep(wait) => false,
        }
    }
}
