//! A process group that ends when its holder does, however the holder ends.
//!
//! A suite starts servers. If the suite crashes, hangs or is interrupted, they must not outlive it. A
//! watcher in a group of its own waits for the end of a pipe that only this process holds, and then
//! kills the suite's group.

use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result};

#[cfg(unix)]
use std::os::unix::process::CommandExt;

/// Kills a process group when dropped.
pub(crate) struct Leash {
    watcher: Child,
    pipe: Option<ChildStdin>,
}

impl Leash {
    /// Starts `command` as the leader of a new group, on a leash.
    pub(crate) fn spawn(command: &mut Command) -> Result<(Child, Self)> {
        let child = command.process_group(0).spawn().context("start the suite")?;
        let script = format!("cat >/dev/null; kill -s KILL -- -{} 2>/dev/null", child.id());
        let mut watcher = Command::new("sh")
            .args(["-c", &script])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start the watcher of the suite")?;
        let pipe = watcher.stdin.take();
        Ok((child, Self { watcher, pipe }))
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        // The watcher reads the end of the pipe, kills the group and ends. There is nothing to do
        // about an error of a wait.
        drop(self.pipe.take());
        let _ = self.watcher.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_a_suite_started_ends_with_the_leash() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo started; exit 0"]).stdout(Stdio::piped());
        let (mut child, leash) = Leash::spawn(&mut command).unwrap();
        assert!(child.wait().unwrap().success());
        drop(leash);
        // The sleeper holds the other end of this pipe: it reads to the end only once that is gone.
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "started\n");
    }
}
