//! One running broker.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::peers::tidemill;
use crate::pin::pinned_command;
use crate::wire::admin::Admin;

/// How long a broker may take to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(120);

/// Between two looks whether a broker is ready.
const READY_POLL: Duration = Duration::from_millis(2);

/// How long a broker may take to stop by itself.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// Which broker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BrokerKind {
    /// Apache Kafka.
    Kafka,
    /// Tidemill.
    Tidemill,
}

impl BrokerKind {
    /// As tables name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kafka => "Kafka",
            Self::Tidemill => "Tidemill",
        }
    }
}

/// A broker's process.
#[derive(Debug)]
pub struct Broker {
    child: Child,
    folder: PathBuf,
    kafka: SocketAddr,
    /// From the start of the process to the first answer.
    pub ready_ms: f64,
}

/// How to start a broker that is ready to be started.
#[derive(Debug)]
pub struct Launch {
    /// The program with its arguments.
    pub command: Command,
    /// Where it serves Kafka clients.
    pub kafka: SocketAddr,
    /// Where it serves `/readyz`, if it does.
    pub http: Option<SocketAddr>,
}

impl Broker {
    /// Starts a broker on core `core` and waits until it answers ApiVersions, and `/readyz` where it
    /// has that. Its log goes to `folder/broker.log`.
    pub fn start(launch: Launch, core: usize, folder: &Path) -> anyhow::Result<Self> {
        let log = File::options().create(true).append(true).open(folder.join("broker.log"))?;
        let mut pinned = pinned_command(core, launch.command.get_program());
        pinned.args(launch.command.get_args());
        for (key, value) in launch.command.get_envs() {
            if let Some(value) = value {
                pinned.env(key, value);
            }
        }
        pinned.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let begun = Instant::now();
        let child = pinned.spawn().context("start a broker under setpriv and taskset")?;
        let folder = folder.to_owned();
        let mut broker = Self { child, folder, kafka: launch.kafka, ready_ms: 0.0 };
        while !is_ready(&launch) {
            if let Some(status) = broker.child.try_wait()? {
                bail!("the broker ended with {status}; see {}", broker.log_path().display());
            }
            if begun.elapsed() > READY_TIMEOUT {
                bail!("the broker is not ready; see {}", broker.log_path().display());
            }
            thread::sleep(READY_POLL);
        }
        broker.ready_ms = begun.elapsed().as_secs_f64() * 1e3;
        Ok(broker)
    }

    /// Where it serves Kafka clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.kafka
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Asks it to stop and waits; kills it if it does not.
    pub fn stop(mut self) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.context("a process id")?, Signal::TERM)?;
        let begun = Instant::now();
        while self.child.try_wait()?.is_none() {
            if begun.elapsed() > STOP_TIMEOUT {
                bail!("the broker does not stop; see {}", self.log_path().display());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Kills it (kill -9); its files stay.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Kills it and removes its files.
    pub fn discard(self) -> anyhow::Result<()> {
        let folder = self.folder.clone();
        self.kill()?;
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("broker.log")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // Already ended is fine; what else can fail here cannot be handled either.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_ready(launch: &Launch) -> bool {
    let speaks_kafka = Admin::connect(launch.kafka).and_then(|mut admin| admin.api_versions());
    speaks_kafka.is_ok() && launch.http.is_none_or(tidemill::is_ready)
}
