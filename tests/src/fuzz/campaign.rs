//! All runs of a target, spread over processes that are watched.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::corpus::Corpus;
use super::finding::Finding;
use super::shard::Done;
use super::target::Target;
use crate::memory::mib;
use crate::report::say;
use crate::workspace;

/// A run that takes longer hangs.
const RUN_SECONDS_MAX: u64 = 10;
/// A process may hold so many bytes more than when it began: the codec's own limit on what a frame
/// decodes to (64 MiB), which a round trip holds twice, and slack.
const GROWTH_BYTES_MAX: u64 = 192 << 20;
/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The head of the table.
pub(super) const HEAD: &str = "| target | corpus | runs | seconds | runs/s | memory MiB | note |\n\
                               | --- | ---: | ---: | ---: | ---: | ---: | --- |";

/// How a target is run.
#[derive(Debug)]
pub(super) struct Campaign {
    pub(super) runs: u64,
    pub(super) limit: Duration,
    pub(super) seed: u64,
    pub(super) processes: u64,
}

/// A process at work.
struct Worker {
    child: Child,
    progress: PathBuf,
    /// The run it was last seen at, and since when.
    run: Option<u64>,
    seen: Instant,
}

/// What became of a target.
#[derive(Debug)]
pub(super) struct Summary {
    runs: u64,
    growth_bytes: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs, memory grew by {} MiB", self.runs, mib(self.growth_bytes))
    }
}

impl Campaign {
    /// Runs a target and prints its row.
    pub(super) fn run(&self, target: &'static Target) -> Result<Summary> {
        let corpus = Corpus::load(target)?;
        let begun = Instant::now();
        let mut workers = Vec::new();
        for index in 0..self.processes {
            workers.push(self.start(target, index)?);
        }
        let ended = watch(&mut workers);
        // One finding is enough: the others would cost their time.
        for worker in &mut workers {
            let _ = worker.child.kill();
        }
        let (worker, how) = match ended {
            Ok(()) => return self.summarize(target, &corpus, begun, workers),
            Err((index, how)) => (&mut workers[index], how),
        };
        let run = read_progress(&worker.progress).unwrap_or_default();
        let said = format!("{how}\n{}", output(&mut worker.child).1);
        bail!("{}", Finding::save(target, &corpus, self.seed, run, said)?)
    }

    fn start(&self, target: &Target, index: u64) -> Result<Worker> {
        let folder = workspace::target().join("fuzz");
        fs::create_dir_all(&folder).context("create the folder of findings")?;
        let progress = folder.join(format!(".{}-{}-{index}", target.name, std::process::id()));
        let child = Command::new(std::env::current_exe().context("find this program")?)
            .arg(target.name)
            .args(["--runs", &self.runs.to_string()])
            .args(["--seconds", &self.limit.as_secs().to_string()])
            .args(["--seed", &self.seed.to_string()])
            .args(["--shard", &index.to_string(), &self.processes.to_string(), "--progress"])
            .arg(&progress)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("start a process")?;
        Ok(Worker { child, progress, run: None, seen: Instant::now() })
    }

    fn summarize(
        &self,
        target: &Target,
        corpus: &Corpus,
        begun: Instant,
        workers: Vec<Worker>,
    ) -> Result<Summary> {
        let seconds = begun.elapsed().as_secs_f64();
        let (mut runs, mut growth_bytes, mut peak_bytes) = (0, 0, 0);
        for mut worker in workers {
            let _ = fs::remove_file(&worker.progress);
            let (told, _) = output(&mut worker.child);
            let done = Done::parse(&told).context("a process ended well but told nothing")?;
            runs += done.runs;
            growth_bytes = growth_bytes.max(done.peak_bytes.saturating_sub(done.begun_bytes));
            peak_bytes = peak_bytes.max(done.peak_bytes);
        }
        let note = match runs < self.runs {
            true => format!("ended by time: {} s", self.limit.as_secs()),
            false => String::new(),
        };
        say(format_args!(
            "| {} | {} | {runs} | {seconds:.1} | {:.0} | {} | {note} |",
            target.name,
            corpus.len(),
            runs as f64 / seconds,
            mib(peak_bytes),
        ));
        if growth_bytes > GROWTH_BYTES_MAX {
            bail!(
                "memory grew by {} MiB, {} MiB are allowed",
                mib(growth_bytes),
                mib(GROWTH_BYTES_MAX)
            );
        }
        Ok(Summary { runs, growth_bytes })
    }
}

/// Waits until all have ended well, or one has not: its index and how it ended.
fn watch(workers: &mut [Worker]) -> Result<(), (usize, String)> {
    loop {
        let mut is_done = true;
        for (index, worker) in workers.iter_mut().enumerate() {
            match worker.child.try_wait() {
                Ok(Some(status)) if status.success() => {}
                Ok(Some(status)) => return Err((index, ended(status))),
                Err(error) => return Err((index, error.to_string())),
                Ok(None) => {
                    is_done = false;
                    if worker.hangs() {
                        let _ = worker.child.kill();
                        return Err((index, format!("it hung for {RUN_SECONDS_MAX} s")));
                    }
                }
            }
        }
        if is_done {
            return Ok(());
        }
        thread::sleep(LOOK);
    }
}

impl Worker {
    fn hangs(&mut self) -> bool {
        let run = read_progress(&self.progress);
        if run != self.run {
            (self.run, self.seen) = (run, Instant::now());
        }
        self.seen.elapsed() >= Duration::from_secs(RUN_SECONDS_MAX)
    }
}

fn ended(status: ExitStatus) -> String {
    format!("the process ended: {status}")
}

fn read_progress(path: &PathBuf) -> Option<u64> {
    let bytes = fs::read(path).ok()?;
    Some(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?))
}

/// What an ended process said: standard output and standard error.
fn output(child: &mut Child) -> (String, String) {
    let mut told = String::new();
    let mut said = String::new();
    // A process that was killed while it wrote has said what it could.
    if let Some(stdout) = &mut child.stdout {
        let _ = stdout.read_to_string(&mut told);
    }
    if let Some(stderr) = &mut child.stderr {
        let _ = stderr.read_to_string(&mut said);
    }
    let _ = child.wait();
    (told, said)
}
