//! How the load is told to rest and to end, and how it tells that it rests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Shared by all of a load.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    wanted: AtomicBool,
    ended: AtomicBool,
    /// One bit for each producer that has nothing under way.
    resting: AtomicU64,
}

impl Rest {
    /// Asks producers to send nothing new, and waits until none has anything under way. Those that
    /// have, if the time is not enough.
    pub(crate) fn ask(&self, producers: u32, timeout: Duration) -> Result<(), Vec<u32>> {
        self.resting.store(0, Ordering::SeqCst);
        self.wanted.store(true, Ordering::SeqCst);
        let all = (1_u64 << producers) - 1;
        let begun = Instant::now();
        while self.resting.load(Ordering::SeqCst) != all {
            if begun.elapsed() > timeout {
                let resting = self.resting.load(Ordering::SeqCst);
                return Err((0..producers).filter(|at| resting >> at & 1 == 0).collect());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Lets producers go on.
    pub(crate) fn over(&self) {
        self.wanted.store(false, Ordering::SeqCst);
    }

    /// Ends the load.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Whether nothing new is to be sent.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }

    /// Whether the load is over.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// The producer at this place has nothing under way and will send nothing new.
    pub(crate) fn rests(&self, place: u32) {
        if self.is_wanted() {
            self.resting.fetch_or(1 << place, Ordering::SeqCst);
        }
    }
}
