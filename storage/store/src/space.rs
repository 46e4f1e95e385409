//! Room on the disk: a low-water mark below which produce is refused, and a reserve for metadata.
//!
//! A full disk must still be able to commit deletions, or it would stay full for ever. So a file of
//! reserved space is held, given up when even the metadata runs out of room, and taken again when
//! there is plenty.
//!
//! Not here: refusing produce (the broker asks [`SpaceGuard::state`]), and freeing space (retention
//! and the garbage collector).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidemill_appendfile::{DiskError, SharedDisk};
use tidemill_base::ErrorKind;

mod decision;

use decision::Reserve;
pub use decision::{SpaceDecision, SpaceLimits, SpaceState};

/// The reserve's path.
const RESERVE: &str = "reserve";

/// Watches the room on a disk, and holds the reserve.
///
/// [`check`](Self::check) makes a file and so may block; it is called from one task on a thread of its
/// own, every second or so. The other methods may be called anywhere.
pub struct SpaceGuard {
    disk: SharedDisk,
    limits: SpaceLimits,
    is_low: AtomicBool,
    is_held: AtomicBool,
}

impl SpaceGuard {
    /// A guard that has not looked yet: plenty of room, and the reserve held if an earlier life left
    /// it.
    ///
    /// # Errors
    /// Those of listing the data directory.
    pub async fn open(disk: SharedDisk, limits: SpaceLimits) -> Result<Arc<Self>, DiskError> {
        let found = disk.list("").await?.into_iter().find(|entry| entry.name == RESERVE);
        let is_held = found.is_some_and(|entry| entry.length >= limits.reserve_bytes);
        let (is_low, is_held) = (AtomicBool::new(false), AtomicBool::new(is_held));
        Ok(Arc::new(Self { disk, limits, is_low, is_held }))
    }

    /// Whether there is room for data, as of the last check.
    #[must_use]
    pub fn state(&self) -> SpaceState {
        if self.is_low.load(Ordering::Relaxed) { SpaceState::Low } else { SpaceState::Plenty }
    }

    /// Whether the reserve is held.
    #[must_use]
    pub fn is_reserve_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    /// Measures the room, and gives up or takes the reserve as that asks for.
    ///
    /// # Errors
    /// Those of measuring; the state is then as it was. A reserve that could not be given up or taken
    /// is told in the log, and tried again by the next check.
    pub async fn check(&self) -> Result<SpaceState, DiskError> {
        let free_bytes = self.disk.free_bytes().await?;
        let decision = self.limits.decide(self.state(), self.is_reserve_held(), free_bytes);
        if decision.state != self.state() {
            tracing::warn!(free_bytes, state = ?decision.state, "room on the disk");
        }
        self.is_low.store(decision.state == SpaceState::Low, Ordering::Relaxed);
        let changed = match decision.reserve {
            Reserve::Keep => Ok(()),
            Reserve::Release => self.release().await,
            Reserve::Take => self.take().await,
        };
        if let Err(error) = changed {
            tracing::warn!(%error, reserve = ?decision.reserve, "the reserve stays as it is for now");
        }
        Ok(decision.state)
    }

    /// Gives up the reserve at once, because a write that must not fail found the disk full. Produce
    /// is refused until there is plenty of room again.
    ///
    /// # Errors
    /// Those of removing the file.
    pub async fn release(&self) -> Result<(), DiskError> {
        self.is_low.store(true, Ordering::Relaxed);
        self.disk.remove(RESERVE).await?;
        if self.is_held.swap(false, Ordering::Relaxed) {
            tracing::warn!("the disk is full: its reserve is given up for metadata");
        }
        Ok(())
    }

    async fn take(&self) -> Result<(), DiskError> {
        // One of another size, or one that was not taken whole.
        self.disk.remove(RESERVE).await?;
        match self.disk.create(RESERVE, self.limits.reserve_bytes).await {
            Ok(_) => self.is_held.store(true, Ordering::Relaxed),
            // Someone else was faster; the next check tries again.
            Err(error) if error.full || error.kind == ErrorKind::Conflict => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tidemill_appendfile::Disk;
    use tidemill_appendfile::twin::{FaultyDisk, MemoryDisk, Toxic, ToxicKind, Toxics};

    use super::*;

    const LIMITS: SpaceLimits =
        SpaceLimits { low_water_bytes: 1000, critical_bytes: 100, reserve_bytes: 500 };

    #[tokio::test]
    async fn the_reserve_is_taken_given_up_and_taken_again() {
        let disk = MemoryDisk::with_capacity(10_000);
        let guard = SpaceGuard::open(Arc::new(disk.clone()), LIMITS).await.unwrap();
        assert_eq!(guard.check().await.unwrap(), SpaceState::Plenty);
        assert!(guard.is_reserve_held());
        disk.create("data", 9000).await.unwrap();
        assert_eq!(guard.check().await.unwrap(), SpaceState::Low);
        assert!(guard.is_reserve_held());
        disk.create("more", 450).await.unwrap();
        assert_eq!(guard.check().await.unwrap(), SpaceState::Low);
        assert!(!guard.is_reserve_held());
        assert_eq!(disk.free_bytes().await.unwrap(), 550);
        disk.remove("data").await.unwrap();
        assert_eq!(guard.check().await.unwrap(), SpaceState::Plenty);
        assert!(guard.is_reserve_held());
    }

    #[tokio::test]
    async fn a_reserve_that_cannot_be_taken_does_not_keep_producers_out() {
        let memory = MemoryDisk::with_capacity(10_000);
        memory.create("data", 9500).await.unwrap();
        let toxics = Toxics::new(1);
        let disk = FaultyDisk::over_memory(memory.clone(), toxics.clone());
        let guard = SpaceGuard::open(Arc::new(disk), LIMITS).await.unwrap();
        assert_eq!(guard.check().await.unwrap(), SpaceState::Low);
        toxics.add(Toxic::always("no reserve", ToxicKind::FailCreate).only_at(RESERVE));
        memory.remove("data").await.unwrap();
        assert_eq!(guard.check().await.unwrap(), SpaceState::Plenty);
        assert_eq!((guard.state(), guard.is_reserve_held()), (SpaceState::Plenty, false));
        toxics.remove("no reserve");
        guard.check().await.unwrap();
        assert!(guard.is_reserve_held());
    }

    #[tokio::test]
    async fn a_reserve_of_an_earlier_life_is_held_and_one_of_another_size_made_anew() {
        let disk = MemoryDisk::with_capacity(10_000);
        disk.create(RESERVE, 500).await.unwrap();
        let guard = SpaceGuard::open(Arc::new(disk.clone()), LIMITS).await.unwrap();
        assert!(guard.is_reserve_held());
        let limits = SpaceLimits { reserve_bytes: 700, ..LIMITS };
        let guard = SpaceGuard::open(Arc::new(disk.clone()), limits).await.unwrap();
        assert!(!guard.is_reserve_held());
        guard.check().await.unwrap();
        assert_eq!(disk.free_bytes().await.unwrap(), 9300);
    }

    #[tokio::test]
    async fn a_release_on_demand_refuses_produce_until_the_next_check() {
        let disk = MemoryDisk::with_capacity(10_000);
        let guard = SpaceGuard::open(Arc::new(disk), LIMITS).await.unwrap();
        guard.check().await.unwrap();
        guard.release().await.unwrap();
        assert_eq!((guard.state(), guard.is_reserve_held()), (SpaceState::Low, false));
        assert_eq!(guard.check().await.unwrap(), SpaceState::Plenty);
        assert!(guard.is_reserve_held());
    }
}
