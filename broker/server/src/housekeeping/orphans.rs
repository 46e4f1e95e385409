//! Orphans: what lies in the store and no command ever named.
//!
//! The metadata's plan says what to refuse and what to delete ([`tidemill_metadata_state::orphans`]);
//! this lists, proposes and deletes. It runs in the same task as folding, so that no fold of this
//! broker is under way meanwhile.

use std::time::Duration;

use tidemill_metadata_state::command::Command;
use tidemill_metadata_state::orphans::{Found, OrphanLimits, OrphanPlan, OrphanWatch, standing};
use tidemill_storage_store::GarbageCollector;
use tokio::time::Instant;

use super::garbage;
use crate::broker::Broker;

/// Every how many rounds the store is searched, if nothing makes it sooner.
const ROUNDS_PER_SEARCH: u32 = 30;

/// Finds orphans, and sees to it that they go.
pub(super) struct Orphans {
    watch: OrphanWatch,
    started: Instant,
    /// When the store is searched next, seen from the start.
    next_search: Duration,
}

impl Orphans {
    pub(super) fn new() -> Self {
        Self { watch: OrphanWatch::default(), started: Instant::now(), next_search: Duration::ZERO }
    }

    /// Searches if it is time: now and then, when a file that is watched is due, and in every round
    /// while the disk is nearly full (a full disk makes flushes fail, and each leaves a file).
    pub(super) async fn run(&mut self, broker: &Broker, collector: &GarbageCollector) {
        let now = self.started.elapsed();
        if now < self.next_search && !broker.is_space_low() {
            return;
        }
        let limits = limits(broker);
        let pause = broker.config.housekeeping_interval.saturating_mul(ROUNDS_PER_SEARCH);
        if let Some(plan) = self.search(broker, collector, limits).await {
            carry_out(broker, collector, plan).await;
        }
        let due = self.watch.due_in(now, limits).unwrap_or(pause);
        self.next_search = now + due.min(pause);
    }

    async fn search(
        &mut self,
        broker: &Broker,
        collector: &GarbageCollector,
        limits: OrphanLimits,
    ) -> Option<OrphanPlan> {
        let stored = match collector.list().await {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(%error, "the store was not searched for orphans");
                return None;
            }
        };
        let found: Vec<Found> = broker.metadata.with_state(|state| {
            let found = stored.iter().map(|stored| Found {
                file: stored.file,
                length: stored.length,
                standing: standing(state, &stored.file),
            });
            found.collect()
        });
        Some(self.watch.look(self.started.elapsed(), limits, &found))
    }
}

/// A flush is given up after `flush_timeout`; twice that, and no writer knows the file any more.
fn limits(broker: &Broker) -> OrphanLimits {
    OrphanLimits {
        patience: broker.config.lane_limits.flush_timeout.saturating_mul(2),
        grace: garbage::grace(broker),
    }
}

async fn carry_out(broker: &Broker, collector: &GarbageCollector, plan: OrphanPlan) {
    for command in plan.commands {
        match &command {
            Command::SealFile(seal) => {
                tracing::info!(file = %seal.file, "a file that its lane has left is sealed");
            }
            Command::Condemn(condemn) => {
                let (lane, floor) = (condemn.lane, condemn.floor);
                tracing::info!(%lane, %floor, "objects that nobody named are condemned");
            }
            _ => {}
        }
        match broker.metadata.propose(command).await {
            Ok(outcome) => tracing::debug!(?outcome, "orphans are refused from now on"),
            Err(error) => tracing::warn!(%error, "orphans are refused later"),
        }
    }
    for (files, what) in [
        (plan.left_over, "files of earlier lives deleted that nobody knew"),
        (plan.deletable, "files of this life deleted that nobody named"),
    ] {
        if !files.is_empty() {
            let deleted = collector.delete(files).await.len();
            tracing::info!(deleted, "{what}");
        }
    }
}
