//! Keeping the driver on its core and its timers sharp, and its children on theirs.

use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::process::Command;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

/// Pins this thread, and all that it starts later, to `core`; timers fire to the nanosecond instead
/// of up to 50 us late, which an open-loop schedule would show as latency of the broker.
pub fn pin_to(core: usize) -> anyhow::Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).with_context(|| format!("pin to core {core}"))?;
    set_current_timer_slack(NonZeroU64::new(1)).context("sharpen timers")
}

/// Raises the soft limit of open files to the hard one, for this process and its children: 10,000
/// idle connections and a broker with 10,000 partitions need it.
pub fn raise_open_files() -> anyhow::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
        .context("raise the limit of open files")?;
    Ok(limit.maximum.unwrap_or(u64::MAX))
}

/// A command that runs `program` on core `core` and is killed when this process ends, however it
/// ends: a broker that is left running would be measured beside the next one.
#[must_use]
pub fn pinned_command(core: usize, program: &OsStr) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "taskset", "-c"]).arg(core.to_string()).arg(program);
    command
}
