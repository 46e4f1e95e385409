//! What outlives the node: its disk with records and metadata log, and its saved state.

use std::sync::Arc;

use parking_lot::Mutex;
use tidemill_appendfile::twin::{FaultyDisk, MemoryDisk, Toxic, ToxicKind, Toxics};
use tidemill_appendfile::{Disk, SharedDisk};
use tidemill_metadata_raft::MemoryStore;
use tokio::time::Instant;

/// Bytes of the simulated disk while it is not full.
pub const DISK_BYTES: u64 = 4 << 30;

/// The disks of the node.
#[derive(Clone)]
pub struct Disks {
    /// Every file.
    pub memory: MemoryDisk,
    /// The saved state of the metadata.
    pub state: MemoryStore,
    /// What spoils calls to the disk.
    pub toxics: Toxics<ToxicKind>,
    shortage: Arc<Mutex<Shortage>>,
}

/// Whether room is short, and if not, since when it is no more.
#[derive(Clone, Copy, Default)]
struct Shortage {
    is_on: bool,
    ended: Option<Instant>,
}

impl Disks {
    /// Empty disks, whose faults follow from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let disks = Self {
            memory: MemoryDisk::with_capacity(DISK_BYTES),
            state: MemoryStore::default(),
            toxics: Toxics::new(seed),
            shortage: Arc::default(),
        };
        disks.heal();
        disks
    }

    /// The disk as the node sees it.
    #[must_use]
    pub fn disk(&self) -> SharedDisk {
        Arc::new(FaultyDisk::over_memory(self.memory.clone(), self.toxics.clone()))
    }

    /// Ends all faults; what remains is that a sync takes its time.
    pub fn heal(&self) {
        self.toxics.clear();
        self.toxics.add(Toxic::always("sync takes time", ToxicKind::DelaySync { delay_ms: 1 }));
        self.give_room();
        self.state.set_failing(false);
    }

    /// Fills the disk until [`give_room`](Self::give_room), whatever is deleted meanwhile.
    pub fn fill(&self) {
        self.memory.set_capacity(0);
        self.shortage.lock().is_on = true;
    }

    /// Leaves `free_bytes` of room until [`give_room`](Self::give_room), and what is deleted meanwhile.
    pub async fn leave_room(&self, free_bytes: u64) {
        self.memory.set_capacity(DISK_BYTES);
        // A disk in memory can always be measured.
        let free_now = self.memory.free_bytes().await.unwrap_or(DISK_BYTES);
        self.memory.set_capacity(DISK_BYTES - free_now + free_bytes);
        self.shortage.lock().is_on = true;
    }

    /// Ends a shortage of room.
    pub fn give_room(&self) {
        self.memory.set_capacity(DISK_BYTES);
        let mut shortage = self.shortage.lock();
        if std::mem::take(&mut shortage.is_on) {
            shortage.ended = Some(Instant::now());
        }
    }

    /// Whether room was short at any time since then.
    #[must_use]
    pub fn was_short_since(&self, then: Instant) -> bool {
        let shortage = *self.shortage.lock();
        shortage.is_on || shortage.ended.is_some_and(|ended| ended >= then)
    }

    /// Loses power: what was not synced is kept or lost as `seed` throws.
    pub fn lose_power(&self, seed: u64) {
        self.memory.crash(seed);
        self.state.crash();
    }

    /// The process dies, the machine lives: what was written is still there.
    pub fn kill(&self) {
        self.memory.kill();
        self.state.crash();
    }
}
