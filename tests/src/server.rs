//! A server as a process: started, watched, ended in every way there is.
//!
//! - It ends with this program, whatever happens: its standard input is a pipe of ours.
//! - It keeps its port and data folder over restarts. What it says is appended to one file.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::memory::Resident;
use crate::workspace;

/// A server that is not ready after so long never will be.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a server is looked at.
const LOOK: Duration = Duration::from_millis(2);
/// What a server says when it serves.
const READY: &str = "tidemill ready: kafka ";

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServerPlan {
    program: PathBuf,
    folder: PathBuf,
    data: PathBuf,
    kafka: SocketAddr,
    settings: Vec<String>,
}

/// A server that was started.
#[derive(Debug)]
pub struct Server {
    child: Child,
    _stdin: Option<ChildStdin>,
    log: PathBuf,
    /// Where in the log its own lines begin.
    log_from: u64,
    kafka: SocketAddr,
    begun: Instant,
    ready_after: Option<Duration>,
}

impl ServerPlan {
    /// A server of `program` that keeps data and log below `folder` and listens on a free port.
    ///
    /// # Errors
    /// There is no such program, or no free port.
    pub fn new(program: &Path, folder: &Path) -> Result<Self> {
        if !program.is_file() {
            bail!("{} is missing: cargo build -p tidemill", workspace::shown(program));
        }
        fs::create_dir_all(folder).context("create the folder of the server")?;
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("find a free port")?;
        Ok(Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            data: folder.join("data"),
            kafka: free.local_addr().context("find a free port")?,
            settings: Vec::new(),
        })
    }

    /// The same with this setting, as SECTION.KEY=VALUE.
    #[must_use]
    pub fn set(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }

    /// The same with its data here.
    #[must_use]
    pub fn data_in(mut self, data: &Path) -> Self {
        self.data = data.to_owned();
        self
    }

    /// Where it listens for Kafka clients.
    #[must_use]
    pub fn kafka(&self) -> SocketAddr {
        self.kafka
    }

    /// Its data folder.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The file of what its processes said.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    /// Starts a server and waits until it is ready.
    ///
    /// # Errors
    /// It ended, or was not ready in time; with the last lines that it said.
    pub fn start(&self) -> Result<Server> {
        let mut server = self.spawn()?;
        server.wait_ready()?;
        Ok(server)
    }

    /// Starts a server and does not wait.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn spawn(&self) -> Result<Server> {
        let log = OpenOptions::new().create(true).append(true).open(self.log());
        let log = log.context("open the server's log")?;
        let log_from = log.metadata().context("look at the server's log")?.len();
        let begun = Instant::now();
        let mut child = Command::new(&self.program)
            .arg("dev")
            .arg("--data")
            .arg(&self.data)
            .args(["--kafka", &self.kafka.to_string(), "--http", "127.0.0.1:0"])
            .args(["--log", "info", "--stop-with-stdin"])
            .args(self.settings.iter().flat_map(|setting| ["--set", setting]))
            .stdin(Stdio::piped())
            .stdout(log.try_clone().context("share the server's log")?)
            .stderr(log)
            .spawn()
            .context("start the server")?;
        let stdin = child.stdin.take();
        let (kafka, log) = (self.kafka, self.log());
        Ok(Server { child, _stdin: stdin, log, log_from, kafka, begun, ready_after: None })
    }
}

impl Server {
    /// Waits until it says that it is ready.
    ///
    /// # Errors
    /// It ended, or was not ready in time; with the last lines that it said.
    pub fn wait_ready(&mut self) -> Result<()> {
        while self.ready_after.is_none() {
            if self.said().lines().any(|line| line.starts_with(READY)) {
                self.ready_after = Some(self.begun.elapsed());
                break;
            }
            if let Some(status) = self.child.try_wait().context("look at the server")? {
                bail!("the server ended ({status}) before it was ready:\n{}", self.last_words());
            }
            if self.begun.elapsed() > READY_TIMEOUT {
                bail!("not ready after {READY_TIMEOUT:?}:\n{}", self.last_words());
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// From its start until it said that it was ready; zero if it has not.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.ready_after.unwrap_or_default()
    }

    /// Where it listens for Kafka clients.
    #[must_use]
    pub fn kafka(&self) -> SocketAddr {
        self.kafka
    }

    /// What its process holds in memory.
    #[must_use]
    pub fn resident(&self) -> Resident {
        Resident::of(self.child.id())
    }

    /// What this process of it has said so far.
    #[must_use]
    pub fn said(&self) -> String {
        let mut said = Vec::new();
        if let Ok(mut log) = File::open(&self.log) {
            // What cannot be read was not said.
            let _ = log.seek(SeekFrom::Start(self.log_from));
            let _ = log.read_to_end(&mut said);
        }
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it like a power cut of the process: SIGKILL.
    ///
    /// # Errors
    /// It had ended before, by itself.
    pub fn kill(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait().context("look at the server")? {
            bail!("the server had ended by itself ({status}):\n{}", self.last_words());
        }
        self.child.kill().context("kill the server")?;
        self.child.wait().context("wait for the killed server")?;
        Ok(())
    }

    /// Asks it to end: SIGTERM.
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn ask_to_stop(&self) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.context("the server has no id")?, Signal::TERM).context("send SIGTERM")
    }

    /// Waits until it has ended by itself.
    ///
    /// # Errors
    /// It did not in time.
    pub fn wait_end(&mut self, timeout: Duration) -> Result<ExitStatus> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().context("look at the server")? {
                return Ok(status);
            }
            if begun.elapsed() > timeout {
                bail!("the server did not end within {timeout:?}:\n{}", self.last_words());
            }
            thread::sleep(LOOK);
        }
    }

    fn last_words(&self) -> String {
        let said = self.said();
        let lines: Vec<_> = said.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
