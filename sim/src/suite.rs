//! Many seeds: the suite of CI, the soak, and the hunt for twins.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidemill_base::twins::Twin;

use crate::rare_events::RareEvents;
use crate::run::{Verdict, run};
use crate::twins::SEEDS_MAX;

/// What many seeds came to.
#[derive(Debug, Default)]
pub struct Summary {
    /// Seeds that held.
    pub held: u64,
    /// Seeds that did not, with their first violations.
    pub failed: BTreeMap<u64, Vec<String>>,
    /// Requests in all.
    pub operations: u64,
    /// Faults in all.
    pub faults: u64,
    /// How often rare things happened.
    pub rare_events: RareEvents,
}

/// Runs `seeds` from `first` on, over `threads` threads; `progress` is told after each.
pub fn many(first: u64, seeds: u64, threads: usize, progress: impl Fn(&Verdict) + Sync) -> Summary {
    let next = AtomicU64::new(first);
    let summary = Mutex::new(Summary::default());
    on_threads(threads, || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                return;
            }
            let verdict = run(seed, None);
            progress(&verdict);
            let mut summary = summary.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            summary.operations += verdict.operations;
            summary.faults += verdict.faults;
            summary.rare_events.merge(&verdict.rare_events);
            match verdict.violations.is_empty() {
                true => summary.held += 1,
                false => {
                    summary.failed.insert(seed, verdict.violations);
                }
            }
        }
    });
    summary.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The seed that catches a mistake, and by which violation.
///
/// Each seed runs in a process of its own: a mistake may make the node spin for ever at one instant of
/// simulated time. Such a seed is ended and catches nothing; the next one has to.
#[must_use]
pub fn hunt(twin: Twin) -> Option<(u64, String)> {
    (1..=SEEDS_MAX).find_map(|seed| Some((seed, run_apart(seed, twin)?)))
}

/// How long a seed with a mistake may take in real time.
const HUNT_PATIENCE: Duration = Duration::from_secs(15);

/// The first violation of a seed with a mistake switched on.
#[expect(clippy::disallowed_methods, reason = "waits for a process in real time, outside any run")]
fn run_apart(seed: u64, twin: Twin) -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let mut child = Command::new(program)
        .args(["run", "--seed", &seed.to_string(), "--twin", twin.name()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begun = std::time::Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > HUNT_PATIENCE {
            // It may have ended just now; either way it is over.
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut said = String::new();
    child.stdout.take()?.read_to_string(&mut said).ok()?;
    let violation = said.lines().find_map(|line| line.trim().strip_prefix("violated: "))?;
    Some(violation.to_owned())
}

/// Hunts for every twin, several at a time; the results are in the order given.
#[must_use]
pub fn hunt_all(twins: &[Twin], threads: usize) -> Vec<Option<(u64, String)>> {
    let next = AtomicU64::new(0);
    let results = Mutex::new(vec![None; twins.len()]);
    on_threads(threads, || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed) as usize;
            let Some(twin) = twins.get(index) else { return };
            let caught = hunt(*twin);
            results.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[index] = caught;
        }
    });
    results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Each seed lives on one thread; seeds have nothing to do with one another.
fn on_threads(threads: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(&work);
        }
    });
}
