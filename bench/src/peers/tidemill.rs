//! Starting Tidemill: `tidemill dev` with a folder and three addresses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::peers::broker::Launch;
use crate::peers::ports::free_addresses;

/// Settings with which records past their retention leave the disk within half a minute.
pub const DELETING_SOON: &[&str] = &[
    "log.retention_interval_ms=5000",
    "log.housekeeping_interval_ms=5000",
    "log.flush_timeout_ms=5000",
    "log.gc_grace_ms=20000",
];

/// How to start Tidemill.
#[derive(Clone, Debug)]
pub struct Tidemill {
    /// The binary.
    pub program: PathBuf,
    /// Arguments after ours.
    pub arguments: Vec<String>,
    /// Its environment, besides ours.
    pub environment: Vec<(String, String)>,
}

impl Tidemill {
    /// A process over the files in `folder`, which may be those of an earlier one.
    pub fn launch(&self, folder: &Path) -> anyhow::Result<Launch> {
        let [kafka, http, postgres] = free_addresses()?;
        let mut command = Command::new(&self.program);
        command.arg("dev").arg("--data").arg(folder.join("data"));
        command.arg("--kafka").arg(kafka.to_string());
        command.arg("--http").arg(http.to_string());
        command.arg("--postgres").arg(postgres.to_string());
        command.args(&self.arguments);
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        Ok(Launch { command, kafka, http: Some(http) })
    }
}

/// Whether `/readyz` answers 200.
#[must_use]
pub fn is_ready(http: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&http, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        Ok(answer.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}
