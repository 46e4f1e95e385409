//! The demo's server: another process of this very program, which can be killed for real.
//!
//! It never outlives the demo: it stops when its standard input is closed, which the system does
//! however the demo ends.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::serve::ReadyLine;

/// How long a server may take to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// Lines of its log that are kept for an error message.
const LINES_KEPT_MAX: usize = 20;

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    /// Where it serves Kafka clients.
    pub(super) kafka: SocketAddr,
    /// From the start of the process until it was ready.
    pub(super) ready_in: Duration,
}

type LastLines = Arc<Mutex<Vec<String>>>;

impl Server {
    /// Starts a server over `data` and waits until it is ready. Port 0 takes a free port.
    ///
    /// # Errors
    /// It cannot be started, or is not ready in time; its last words are told.
    pub(super) async fn start(data: &Path, kafka: SocketAddr) -> Result<Self, Failure> {
        let begun = Instant::now();
        let program = std::env::current_exe().map_err(|error| cannot_start(&error))?;
        let mut child = Command::new(program)
            .arg("dev")
            .arg("--data")
            .arg(data)
            .args(["--kafka", &kafka.to_string(), "--http", "127.0.0.1:0"])
            .args(["--stop-with-stdin", "--log", "warn"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| cannot_start(&error))?;
        let last_lines = LastLines::default();
        let (told, ready) = oneshot::channel();
        if let Some(stderr) = child.stderr.take() {
            listen(stderr, told, Arc::clone(&last_lines));
        }
        match tokio::time::timeout(READY_TIMEOUT, ready).await {
            Ok(Ok(kafka)) => Ok(Self { child, kafka, ready_in: begun.elapsed() }),
            _ => {
                end(&mut child);
                let said = last_lines.lock().map(|lines| lines.join("\n")).unwrap_or_default();
                Err(Failure::failed(format!("the server was not ready in time; it said:\n{said}")))
            }
        }
    }

    /// Kills it without warning, as a power cut would.
    pub(super) fn kill(mut self) {
        end(&mut self.child);
    }

    /// Stops it in good order.
    ///
    /// # Errors
    /// It ends with an error.
    pub(super) async fn stop(mut self) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => {
                    return Err(Failure::failed(format!("the server ended with {status}")));
                }
                Ok(None) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                _ => return Err(Failure::failed("the server did not stop in time")),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Kills a process, which may have ended already, and takes note of its end.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot start a server: {error}"))
}

/// Reads what a server says until it ends, and tells its address when it is ready.
fn listen(stderr: ChildStderr, told: oneshot::Sender<SocketAddr>, last_lines: LastLines) {
    let mut told = Some(told);
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some((kafka, _)) = ReadyLine::addresses(&line)
                && let Some(told) = told.take()
            {
                // Nobody waits any more once the time is up.
                let _ = told.send(kafka);
            }
            if let Ok(mut lines) = last_lines.lock() {
                if lines.len() == LINES_KEPT_MAX {
                    lines.remove(0);
                }
                lines.push(line);
            }
        }
    });
}
