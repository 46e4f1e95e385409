//! Starting Apache Kafka, one KRaft node, from its published Maven packages.
//!
//! The version is pinned in `peers/kafka/pom.xml`; the settings are those that the release ships
//! (see `peers/README.md`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::peers::broker::Launch;
use crate::peers::ports::free_addresses;

/// The cluster's id: any 16 bytes in URL-safe base 64.
const CLUSTER_ID: &str = "VGlkZW1pbGxCZW5jaDAwMQ";

/// `KAFKA_HEAP_OPTS` and `KAFKA_JVM_PERFORMANCE_OPTS` of the release's start scripts.
const JVM_FLAGS: [&str; 8] = [
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
];

/// Settings with which records past their retention leave the disk within half a minute.
const DELETING_SOON: &str =
    "\nlog.retention.check.interval.ms=5000\nlog.segment.delete.delay.ms=1000\n";

/// Kafka's jars.
#[derive(Clone, Debug)]
pub struct Kafka {
    /// The pinned version.
    pub version: String,
    deletes_soon: bool,
    jars: PathBuf,
    settings: PathBuf,
}

impl Kafka {
    /// Finds the pinned version's jars in `repository/.cache`; has Maven fetch them if they are not
    /// there. `deletes_soon`: what is past its retention is deleted within seconds, not minutes.
    pub fn prepare(repository: &Path, deletes_soon: bool) -> anyhow::Result<Self> {
        let settings = repository.join("bench/peers/kafka");
        let pom = settings.join("pom.xml");
        let version = pinned_version(&fs::read_to_string(&pom)?)
            .with_context(|| format!("no kafka.version in {}", pom.display()))?;
        let folder = repository.join(".cache/kafka").join(&version);
        let jars = folder.join("libs");
        let complete = folder.join("complete");
        if !complete.exists() {
            let status = Command::new("mvn")
                .args(["-q", "-B", "-f"])
                .arg(&pom)
                .args(["dependency:copy-dependencies", "-DincludeScope=runtime"])
                .arg(format!("-DoutputDirectory={}", jars.display()))
                .status()
                .context("run mvn")?;
            ensure!(status.success(), "mvn could not fetch Apache Kafka {version}");
            fs::write(&complete, "")?;
        }
        Ok(Self { version, deletes_soon, jars, settings })
    }

    /// A process over the files in `folder`, which is formatted first if it is empty.
    pub fn launch(&self, folder: &Path) -> anyhow::Result<Launch> {
        let [kafka, controller] = free_addresses()?;
        let properties = folder.join("server.properties");
        let data = folder.join("data");
        let mut text = fs::read_to_string(self.settings.join("server.properties"))?
            .replace("@KAFKA_PORT@", &kafka.port().to_string())
            .replace("@CONTROLLER_PORT@", &controller.port().to_string())
            .replace("@LOG_DIRS@", &data.display().to_string());
        if self.deletes_soon {
            text.push_str(DELETING_SOON);
        }
        fs::write(&properties, text)?;
        if !data.exists() {
            let formatted = self
                .java()
                .args(["kafka.tools.StorageTool", "format", "--standalone"])
                .args(["-t", CLUSTER_ID, "-c"])
                .arg(&properties)
                .output()
                .context("run java")?;
            let told = String::from_utf8_lossy(&formatted.stderr);
            ensure!(formatted.status.success(), "format Kafka's storage: {told}");
        }
        let mut command = self.java();
        command.arg("kafka.Kafka").arg(&properties);
        Ok(Launch { command, kafka, http: None })
    }

    fn java(&self) -> Command {
        let log4j = self.settings.join("log4j2.properties");
        let mut command = Command::new("java");
        command.args(JVM_FLAGS);
        command.arg(format!("-Dlog4j2.configurationFile={}", log4j.display()));
        command.arg("-cp").arg(format!("{}/*", self.jars.display()));
        command
    }
}

fn pinned_version(pom: &str) -> Option<String> {
    let (_, after) = pom.split_once("<kafka.version>")?;
    let (version, _) = after.split_once("</kafka.version>")?;
    Some(version.to_owned())
}
