//! When a server is asked to stop.

use std::io;

use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, SIGINT, and if wanted the end of standard input.
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    with_stdin: bool,
}

impl StopSignals {
    /// Begins to listen for signals; from now on they no longer end the process by themselves.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn listen(with_stdin: bool) -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            with_stdin,
        })
    }

    /// Waits for the next one and says what it was.
    pub(crate) async fn next(&mut self) -> &'static str {
        let with_stdin = self.with_stdin;
        let name = tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            () = stdin_closed(), if with_stdin => "standard input closed",
        };
        // A closed input asks to stop, but is never the second signal, which means at once: a parent
        // that waits for the end closes it as well.
        self.with_stdin = false;
        name
    }
}

/// Waits until standard input ends; what comes on it is thrown away.
async fn stdin_closed() {
    let mut stdin = tokio::io::stdin();
    let mut bytes = [0; 64];
    while stdin.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
}
