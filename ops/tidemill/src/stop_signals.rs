//! When a server is asked to stop.

use std::io;

use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM, SIGINT, SIGHUP, and if wanted the end of standard input.
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    /// None: whoever started the process (`nohup`) wants it to outlive its terminal.
    hangup: Option<Signal>,
    with_stdin: bool,
    signals_count: u32,
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
            hangup: match hangup_is_ignored() {
                true => None,
                false => Some(signal(SignalKind::hangup())?),
            },
            with_stdin,
            signals_count: 0,
        })
    }

    /// Waits to be asked to stop, and says by what.
    pub(crate) async fn first(&mut self) -> &'static str {
        tokio::select! {
            signal = self.signal() => signal,
            () = stdin_closed(), if self.with_stdin => "standard input closed",
        }
    }

    /// Waits for the second signal, which means at once. A closed input is no signal: whoever closes it
    /// may well send one signal too.
    ///
    /// The system keeps one of a kind: of two SIGTERMs sent before the first was taken, some
    /// microseconds apart, it delivers one. Who stops like that gets a drain, within its time.
    pub(crate) async fn second(&mut self) -> &'static str {
        loop {
            let signal = self.signal().await;
            if self.signals_count >= 2 {
                return signal;
            }
        }
    }

    async fn signal(&mut self) -> &'static str {
        let signal = tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            () = next(self.hangup.as_mut()) => "SIGHUP",
        };
        self.signals_count += 1;
        signal
    }
}

/// Waits for a signal; for ever, for none.
async fn next(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => {
            let _ = signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether SIGHUP does nothing, as far as the system tells.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_signals(&status) & 1 != 0
}

/// The signals that a process ignores, as a mask whose lowest bit is signal 1.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Waits until standard input ends; what comes on it is thrown away.
async fn stdin_closed() {
    let mut stdin = tokio::io::stdin();
    let mut bytes = [0; 64];
    while stdin.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_systems_words() {
        assert_eq!(ignored_signals("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t1\n"), 0x1001);
        assert_eq!(ignored_signals(""), 0);
    }
}
