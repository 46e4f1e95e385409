//! How a comparison is run.

use std::path::PathBuf;

use clap::Args;

use crate::clock::{SECOND_NS, saturating_ns};
use crate::compare::case::{Case, Scenario};
use crate::compare::load_cases::{Volumes, closed_loop, open_loop};
use crate::driver::load::{ProduceLoad, Timing};
use crate::peers::BrokerKind;
use crate::peers::tidemill::{self, Tidemill};

/// The options of `compare`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The tidemill binary; without it only Kafka is measured.
    #[arg(long, value_name = "PATH")]
    pub tidemill: Option<PathBuf>,
    /// Measure Tidemill alone.
    #[arg(long)]
    pub no_kafka: bool,
    /// Short runs: 5 s of warm-up, 15 s measured, small backlogs. For a look, not for a figure.
    #[arg(long)]
    pub quick: bool,
    /// Warm-up of a run, in seconds.
    #[arg(long, value_name = "S")]
    pub warm_up_s: Option<u64>,
    /// Measured time of a run, in seconds.
    #[arg(long, value_name = "S")]
    pub measure_s: Option<u64>,
    /// Only these scenarios.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SCENARIO")]
    pub only: Vec<Scenario>,
    /// Only cases of this many partitions.
    #[arg(long, value_delimiter = ',', value_name = "N")]
    pub partitions: Vec<u32>,
    /// Only cases of batches of this size.
    #[arg(long, value_delimiter = ',', value_name = "KIB")]
    pub batch_kib: Vec<u32>,
    /// Runs of each case on each broker.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub repeats: u32,
    /// Leave out the floors.
    #[arg(long)]
    pub no_floor: bool,
    /// The brokers' core.
    #[arg(long, default_value_t = 0, value_name = "CORE")]
    pub broker_core: usize,
    /// The driver's core.
    #[arg(long, default_value_t = 1, value_name = "CORE")]
    pub driver_core: usize,
    /// Where brokers keep their data; emptied of what was put there.
    #[arg(long, default_value = "/tmp/tidemill-bench", value_name = "DIR")]
    pub work: PathBuf,
    /// Where a file without blocks is read before each run to fill the page cache; not in memory.
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub ballast: PathBuf,
    /// Where results go; by default bench/results/TIME.json.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// `produce` and `both` by a schedule of so many MB/s instead of as fast as they go, so that a long
    /// run fits on the disk.
    #[arg(long, value_name = "MB")]
    pub rate_mb_s: Option<u64>,
    /// Let both brokers delete what is older than the newest GIB of the topic, looking every few
    /// seconds, so that a long closed loop fits on the disk. Shipped settings look every five minutes.
    #[arg(long, value_name = "GIB")]
    pub keep_gib: Option<u64>,
    /// Arguments for tidemill, after the usual ones.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub tidemill_arg: Vec<String>,
    /// Environment for tidemill (a sync that is padded, for example).
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub tidemill_env: Vec<(String, String)>,
    /// Environment for the tidemill that start-up runs kill (a write-behind held back, for example).
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub killed_env: Vec<(String, String)>,
}

impl Options {
    /// How long a run takes.
    #[must_use]
    pub fn timing(&self) -> Timing {
        let (warm_up_s, measure_s) = if self.quick { (5, 15) } else { (60, 120) };
        Timing {
            warm_up_ns: self.warm_up_s.unwrap_or(warm_up_s) * SECOND_NS,
            measure_ns: self.measure_s.unwrap_or(measure_s) * SECOND_NS,
        }
    }

    /// The time of one measurement of a floor.
    #[must_use]
    pub fn floor_ns(&self) -> u64 {
        saturating_ns(std::time::Duration::from_secs(if self.quick { 1 } else { 10 }))
    }

    /// Backlogs: for consumers alone, more than any cache of a broker's own and less than the page
    /// cache; beside a tail, ten minutes at 20 MB/s.
    #[must_use]
    pub fn volumes(&self) -> Volumes {
        if self.quick {
            Volumes { consume_bytes: 1 << 30, backlog_bytes: 1_000_000_000 }
        } else {
            Volumes { consume_bytes: 4 << 30, backlog_bytes: 12_000_000_000 }
        }
    }

    /// Bytes written before a kill.
    #[must_use]
    pub fn killed_bytes(&self) -> u64 {
        if self.quick { 1 << 28 } else { 1 << 30 }
    }

    /// The cases asked for.
    #[must_use]
    pub fn cases(&self) -> Vec<Case> {
        let wanted = |case: &Case| {
            (self.only.is_empty() || self.only.contains(&case.scenario))
                && (self.partitions.is_empty() || self.partitions.contains(&case.partitions))
                && (self.batch_kib.is_empty() || self.batch_kib.contains(&case.batch_kib))
        };
        Case::all().into_iter().filter(wanted).collect()
    }

    /// The brokers asked for.
    #[must_use]
    pub fn brokers(&self) -> Vec<BrokerKind> {
        let kafka = (!self.no_kafka).then_some(BrokerKind::Kafka);
        let tidemill = self.tidemill.as_ref().map(|_| BrokerKind::Tidemill);
        kafka.into_iter().chain(tidemill).collect()
    }

    /// What `produce` and `both` produce.
    #[must_use]
    pub fn produce_load(&self) -> ProduceLoad {
        self.rate_mb_s.map_or_else(closed_loop, |rate| open_loop(rate.saturating_mul(1_000_000)))
    }

    /// What a partition of `partitions` keeps, in bytes, if not all.
    #[must_use]
    pub fn retention_bytes(&self, partitions: u32) -> Option<u64> {
        self.keep_gib.map(|gib| (gib << 30) / u64::from(partitions.max(1)))
    }

    /// How to start Tidemill, if it is asked for.
    #[must_use]
    pub fn tidemill(&self) -> Option<Tidemill> {
        let deleting = self.keep_gib.map(|_| tidemill::DELETING_SOON).unwrap_or_default();
        let sets = deleting.iter().flat_map(|setting| ["--set", setting]).map(str::to_owned);
        self.tidemill.as_ref().map(|program| Tidemill {
            program: program.clone(),
            arguments: sets.chain(self.tidemill_arg.iter().cloned()).collect(),
            environment: self.tidemill_env.clone(),
        })
    }
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("KEY=VALUE is asked for")?;
    Ok((key.to_owned(), value.to_owned()))
}
