//! Where brokers are put up and taken down.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::compare::options::Options;
use crate::compare::page_cache::PageCache;
use crate::peers::broker::Launch;
use crate::peers::kafka::Kafka;
use crate::peers::{Broker, BrokerKind};
use crate::wire::admin::Admin;

/// A run is not begun with less free disk than this: a full disk would be measured, and would harm
/// whatever else lives there.
const FREE_BYTES_MIN: u64 = 20 << 30;

/// More free memory than this, once the page cache was filled, is told.
const UNTOUCHED_BYTES_MAX: u64 = 2 << 30;

/// Lines told of the log of a broker whose run failed.
const LOG_LINES_TOLD: usize = 15;

/// The topic of every run.
pub const TOPIC: &str = "bench";

/// What is needed to start brokers.
#[derive(Debug)]
pub struct Stage {
    /// How the comparison is run.
    pub options: Options,
    /// Apache Kafka, if it is measured.
    pub kafka: Option<Kafka>,
    /// Folders that were made and may still be there.
    folders: Vec<PathBuf>,
    started: u32,
    page_cache: PageCache,
    /// Memory that was free when the latest broker over an empty folder was started, in bytes.
    pub free_bytes: u64,
}

impl Stage {
    /// Finds or fetches what the asked brokers need.
    pub fn prepare(options: Options, repository: &Path) -> anyhow::Result<Self> {
        let deletes_soon = options.keep_gib.is_some();
        let kafka = match options.no_kafka {
            true => None,
            false => Some(Kafka::prepare(repository, deletes_soon)?),
        };
        fs::create_dir_all(&options.work)?;
        remove_orphans(&options.work)?;
        let page_cache = PageCache::create(&options.ballast).context("--ballast")?;
        let (folders, started, free_bytes) = (Vec::new(), 0, 0);
        Ok(Self { options, kafka, folders, started, page_cache, free_bytes })
    }

    /// Starts a broker over an empty folder.
    pub fn fresh(&mut self, kind: BrokerKind) -> anyhow::Result<Broker> {
        self.started += 1;
        let name = format!("{}-{}-{}", kind.name(), std::process::id(), self.started);
        let folder = self.options.work.join(name);
        fs::create_dir(&folder).with_context(|| format!("create {}", folder.display()))?;
        self.folders.push(folder.clone());
        // What earlier runs left dirty is written now and not during this run.
        rustix::fs::sync();
        let free = rustix::fs::statvfs(&folder)?;
        let free_bytes = free.f_bavail * free.f_frsize;
        ensure!(free_bytes >= FREE_BYTES_MIN, "{free_bytes} bytes of disk are free");
        self.fill_page_cache()?;
        self.over(kind, &folder, &[])
    }

    /// Fills the page cache, so that nobody is charged for memory that was never touched.
    pub fn fill_page_cache(&mut self) -> anyhow::Result<()> {
        self.free_bytes = self.page_cache.fill().context("fill the page cache")?;
        if self.free_bytes > UNTOUCHED_BYTES_MAX {
            let free_mib = self.free_bytes >> 20;
            tell(&format!("  {free_mib} MiB of memory are free still: is --ballast on a disk?"));
        }
        Ok(())
    }

    /// Removes what failed runs left; of their logs the last lines are told.
    pub fn clear(&mut self) -> anyhow::Result<()> {
        for folder in self.folders.drain(..).filter(|folder| folder.exists()) {
            let log = fs::read_to_string(folder.join("broker.log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            for line in &lines[lines.len().saturating_sub(LOG_LINES_TOLD)..] {
                tell(&format!("  | {line}"));
            }
            fs::remove_dir_all(&folder)?;
        }
        Ok(())
    }

    /// Starts a broker over an empty folder, with one topic.
    pub fn fresh_with_topic(
        &mut self,
        kind: BrokerKind,
        partitions: u32,
    ) -> anyhow::Result<Broker> {
        let broker = self.fresh(kind)?;
        let retention_bytes = self.options.retention_bytes(partitions);
        Admin::connect(broker.address())?.create_topic(TOPIC, partitions, retention_bytes)?;
        Ok(broker)
    }

    /// Starts a broker over the files of an earlier one; `environment` counts for Tidemill only.
    pub fn over(
        &self,
        kind: BrokerKind,
        folder: &Path,
        environment: &[(String, String)],
    ) -> anyhow::Result<Broker> {
        let launch: Launch = match kind {
            BrokerKind::Kafka => self.kafka.as_ref().context("Kafka")?.launch(folder)?,
            BrokerKind::Tidemill => {
                let mut tidemill = self.options.tidemill().context("--tidemill PATH")?;
                tidemill.environment.extend_from_slice(environment);
                tidemill.launch(folder)?
            }
        };
        Broker::start(launch, self.options.broker_core, folder)
            .with_context(|| format!("start {}", kind.name()))
    }
}

/// Removes the folders of brokers whose benchmark has ended without removing them.
fn remove_orphans(work: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(work)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = match name.split('-').collect::<Vec<_>>()[..] {
            [kind, owner, _] if kind == "Kafka" || kind == "Tidemill" => owner.to_owned(),
            _ => continue,
        };
        if !Path::new("/proc").join(owner).exists() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Tells people how the comparison goes on.
pub fn tell(line: &str) {
    // Nobody reading standard error is no reason to stop measuring.
    let _ = writeln!(std::io::stderr(), "{line}");
}
