//! The groups that this broker coordinates: which are held, on whose claim, and what wakes them.
//!
//! A group is claimed from the metadata when it is first asked for, and restored from its last
//! recorded generation. What it decides is in `tidemill-broker-logic`; here its actions are carried
//! out: answers by one-shot channels, records by proposals, deadlines by one task for all groups.
//!
//! - While a group is absent from the table, whoever inserts it holds the claim lock of its name from
//!   before the claim on: a snapshot older than what this broker did itself is never restored.
//! - No lock but that one is held across an await.
//! - A group that is idle is dropped and comes back by the next request: the claim stays.
//!
//! Not here: committed offsets, which the metadata keeps and checks.

mod alarms;
mod coordinator;
mod offsets;
mod records;
pub(crate) mod upkeep;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tidemill_base::ports::SharedSpawn;
use tidemill_base::{BrokerEpoch, BrokerId, GroupEpoch};
use tidemill_broker_logic::groups::{Group, GroupLimits};
use tidemill_kafka::ErrorCode;
use tidemill_metadata_raft::MetadataHandle;
use tidemill_metadata_state::command::{ClaimGroup, Generation};
use tidemill_metadata_state::{Outcome, Refusal};
use tokio::time::Instant;

use alarms::Alarms;
pub(crate) use coordinator::Coordinator;

/// The longest group id, in bytes.
const GROUP_ID_BYTES_MAX: usize = 1_024;
/// Locks that claims are spread over.
const CLAIM_LOCKS: usize = 16;

/// All groups of a broker.
pub struct Groups {
    /// This very table, for what outlives a call.
    this: Weak<Self>,
    metadata: MetadataHandle,
    broker: BrokerId,
    epoch: BrokerEpoch,
    spawn: SharedSpawn,
    started: Instant,
    held: Mutex<BTreeMap<Arc<str>, Arc<Coordinator>>>,
    claims: [tokio::sync::Mutex<()>; CLAIM_LOCKS],
    alarms: Arc<Alarms>,
    bytes: AtomicU64,
    /// What all groups in memory may take together. Beyond it nobody new may join.
    bytes_max: u64,
    closed: AtomicBool,
}

/// Whether a request may bring a group into being.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Absent {
    /// It may.
    Create,
    /// It may not: GROUP_ID_NOT_FOUND.
    Refuse,
}

impl Groups {
    /// A table for the broker's registration, with its task for deadlines.
    pub(crate) fn start(
        metadata: MetadataHandle,
        broker: BrokerId,
        epoch: BrokerEpoch,
        spawn: SharedSpawn,
        bytes_max: u64,
    ) -> Arc<Self> {
        let groups = Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            metadata,
            broker,
            epoch,
            spawn: Arc::clone(&spawn),
            started: Instant::now(),
            held: Mutex::default(),
            claims: Default::default(),
            alarms: Arc::default(),
            bytes: AtomicU64::new(0),
            bytes_max,
            closed: AtomicBool::new(false),
        });
        spawn.task("group deadlines", Box::pin(alarms::ring(Arc::downgrade(&groups))));
        groups
    }

    /// How many groups are in memory.
    pub fn len(&self) -> usize {
        self.held.lock().len()
    }

    /// Whether no group is in memory.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// About how much memory the groups take, in bytes.
    pub fn approximate_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Answers everything that waits, so that its connections can end, and takes nothing new.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for coordinator in self.all() {
            coordinator.close(ErrorCode::NOT_COORDINATOR);
        }
    }

    /// The group, claimed if it is not held yet.
    ///
    /// # Errors
    /// The code with which the request is refused.
    pub(crate) async fn coordinator(
        &self,
        group: &str,
        absent: Absent,
    ) -> Result<Arc<Coordinator>, ErrorCode> {
        if group.is_empty() || group.len() > GROUP_ID_BYTES_MAX {
            return Err(ErrorCode::INVALID_GROUP_ID);
        }
        if let Some(held) = self.held(group) {
            return Ok(held);
        }
        let _claiming = self.claims[claim_lock(group)].lock().await;
        if let Some(held) = self.held(group) {
            return Ok(held);
        }
        if self.closed.load(Ordering::Acquire) {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        if absent == Absent::Refuse {
            self.metadata.read_index().await.map_err(|_| ErrorCode::COORDINATOR_NOT_AVAILABLE)?;
            if self.metadata.with_state(|state| state.group(group).is_none()) {
                return Err(ErrorCode::GROUP_ID_NOT_FOUND);
            }
        }
        let (epoch, recorded) = self.claim(group).await?;
        let now_ms = self.now_ms();
        let restored = Group::restore(GroupLimits::default(), recorded.as_ref(), now_ms);
        let name: Arc<str> = group.into();
        let coordinator =
            Arc::new(Coordinator::new(Weak::clone(&self.this), Arc::clone(&name), epoch, restored));
        self.held.lock().insert(name, Arc::clone(&coordinator));
        if self.closed.load(Ordering::Acquire) {
            coordinator.close(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        coordinator.advance();
        Ok(coordinator)
    }

    /// The group, if it is in memory.
    pub(crate) fn held(&self, group: &str) -> Option<Arc<Coordinator>> {
        self.held.lock().get(group).map(Arc::clone)
    }

    /// Every group in memory, by name.
    pub(crate) fn all(&self) -> Vec<Arc<Coordinator>> {
        self.held.lock().values().map(Arc::clone).collect()
    }

    /// Drops the groups that are idle and that no request uses now.
    fn unload_idle(&self) {
        // A request takes its share of a group under this lock, so that none can begin meanwhile.
        self.held.lock().retain(|_, held| Arc::strong_count(held) > 1 || !held.is_idle());
    }

    /// Takes a group that has ended here out of the table.
    fn remove(&self, ended: &Coordinator) {
        let mut held = self.held.lock();
        if held.get(ended.name()).is_some_and(|known| std::ptr::eq(Arc::as_ptr(known), ended)) {
            held.remove(ended.name());
        }
    }

    async fn claim(&self, group: &str) -> Result<(GroupEpoch, Option<Generation>), ErrorCode> {
        let command =
            ClaimGroup { group: group.to_owned(), broker: self.broker, epoch: self.epoch };
        match self.metadata.propose(command).await {
            Ok(Outcome::Claimed { epoch, group }) => Ok((epoch, group.generation)),
            Ok(Outcome::Refused(Refusal::GroupHeld { .. } | Refusal::BrokerFenced)) => {
                Err(ErrorCode::NOT_COORDINATOR)
            }
            other => {
                tracing::warn!(group, ?other, "group not claimed");
                Err(ErrorCode::COORDINATOR_NOT_AVAILABLE)
            }
        }
    }

    /// Milliseconds since the table was made: the clock of its groups.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether there is memory for more members.
    fn has_room(&self) -> bool {
        self.approximate_bytes() < self.bytes_max
    }
}

/// The lock of a name (FNV-1a: any spread will do).
fn claim_lock(group: &str) -> usize {
    let hash = group.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash % CLAIM_LOCKS as u64) as usize
}
