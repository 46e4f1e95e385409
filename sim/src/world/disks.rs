//! What outlives the node: its disk with records and metadata log, and its saved state.

use std::sync::Arc;

use tidemill_appendfile::SharedDisk;
use tidemill_appendfile::twin::{FaultyDisk, MemoryDisk, Toxic, ToxicKind, Toxics};
use tidemill_metadata_raft::MemoryStore;

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
}

impl Disks {
    /// Empty disks, whose faults follow from `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let disks = Self {
            memory: MemoryDisk::with_capacity(DISK_BYTES),
            state: MemoryStore::default(),
            toxics: Toxics::new(seed),
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
        self.memory.set_capacity(DISK_BYTES);
        self.state.set_failing(false);
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
