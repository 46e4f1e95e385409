//! The process that runs inputs: every `count`-th, beginning with `index`.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::corpus::Corpus;
use super::target::Target;
use crate::memory::Resident;

/// The process may map so many bytes: far more than any input may need, so that an allocation by a
/// number in the input ends the process and is found.
const MAPPED_BYTES_MAX: u64 = 1 << 30;
/// The clock is looked at once in so many runs.
const RUNS_PER_LOOK: u64 = 64;

/// A share of a target's runs.
#[derive(Debug)]
pub(super) struct Shard<'a> {
    pub(super) target: &'a Target,
    pub(super) corpus: &'a Corpus,
    pub(super) seed: u64,
    pub(super) index: u64,
    pub(super) count: u64,
}

/// What a shard has done.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) runs: u64,
    /// Bytes that the process held when it began.
    pub(super) begun_bytes: u64,
    /// Bytes that it held at most.
    pub(super) peak_bytes: u64,
}

impl Shard<'_> {
    /// Runs until `runs` of all shards together are done or the time is up. Before each run its number
    /// is written to `progress`, whatever happens then.
    pub(super) fn run(&self, runs: u64, limit: Duration, progress: &Path) -> Result<Done> {
        let progress = File::create(progress).context("create the file of progress")?;
        let bound = Rlimit { current: Some(MAPPED_BYTES_MAX), maximum: Some(MAPPED_BYTES_MAX) };
        setrlimit(Resource::As, bound).context("limit the memory")?;
        let begun = Instant::now();
        let mut done = Done { begun_bytes: Resident::own().now_bytes, ..Done::default() };
        let mut input = Vec::new();
        let mut run = self.index;
        while run < runs {
            progress.write_at(&run.to_le_bytes(), 0).context("note the run")?;
            self.corpus.input(self.seed, run, &mut input);
            (self.target.run)(&input);
            done.runs += 1;
            run += self.count;
            // The corpus is replayed whole, however slow the machine.
            let looks = done.runs.is_multiple_of(RUNS_PER_LOOK) && run >= self.corpus.len();
            if looks && begun.elapsed() >= limit {
                break;
            }
        }
        done.peak_bytes = Resident::own().peak_bytes;
        Ok(done)
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "done {} {} {}", self.runs, self.begun_bytes, self.peak_bytes)
    }
}

impl Done {
    /// Reads what `Display` writes.
    pub(super) fn parse(output: &str) -> Option<Self> {
        let line = output.lines().find_map(|line| line.strip_prefix("done "))?;
        let mut numbers = line.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { runs: next()?, begun_bytes: next()?, peak_bytes: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let done = Done { runs: 7, begun_bytes: 1 << 20, peak_bytes: 2 << 20 };
        assert_eq!(Done::parse(&format!("noise\n{done}\n")), Some(done));
        assert_eq!(Done::parse("done 1"), None);
    }
}
