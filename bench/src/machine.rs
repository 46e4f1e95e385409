//! Where results come from: the machine, the commit, the peers' versions.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// Facts that a figure means nothing without.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Cores.
    pub cores: usize,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// The kernel's version.
    pub kernel: String,
    /// The commit measured.
    pub commit: String,
    /// Whether files differed from that commit.
    pub dirty: bool,
    /// Apache Kafka's version, where it was measured.
    pub kafka_version: Option<String>,
    /// Java's version, where Kafka was measured.
    pub java_version: Option<String>,
}

impl Machine {
    /// This machine, with the repository at `repository`.
    #[must_use]
    pub fn describe(repository: &Path, kafka_version: Option<String>) -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let git =
            |arguments: &[&str]| told(Command::new("git").current_dir(repository).args(arguments));
        let java_version = kafka_version.as_ref().map(|_| {
            let version = told(Command::new("java").arg("--version"));
            version.lines().next().unwrap_or_default().to_owned()
        });
        Self {
            cpu: value_of(&cpuinfo, "model name"),
            cores: cpuinfo.lines().filter(|line| line.starts_with("processor")).count(),
            memory_bytes: kib_of(&value_of(&meminfo, "MemTotal")) * 1024,
            kernel: kernel.trim().to_owned(),
            commit: git(&["rev-parse", "HEAD"]),
            dirty: !git(&["status", "--porcelain", "--untracked-files=no"]).is_empty(),
            kafka_version,
            java_version,
        }
    }
}

/// What a command prints; nothing if it cannot be run.
fn told(command: &mut Command) -> String {
    let output = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

/// The value of the first line `name : value`.
fn value_of(text: &str, name: &str) -> String {
    let mut lines = text.lines().filter(|line| line.starts_with(name));
    let value = lines.next().and_then(|line| line.split_once(':'));
    value.map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

fn kib_of(value: &str) -> u64 {
    value.trim_end_matches("kB").trim().parse().unwrap_or(0)
}
