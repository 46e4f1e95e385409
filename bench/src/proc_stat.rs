//! What the kernel says of a process and of the cores.
//!
//! `/proc/PID/stat` sums all threads, ended ones too. On the kernels measured, network work done in
//! soft interrupts is charged to the process that it interrupts, so both brokers pay for loopback
//! alike.

use std::fs;

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// CPU time of a process since it began, in clock ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuTicks {
    /// In the process's own code.
    pub user: u64,
    /// In the kernel on its behalf.
    pub system: u64,
}

/// Resident memory of a process, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Resident {
    /// Now.
    pub now_bytes: u64,
    /// The most since the process began.
    pub peak_bytes: u64,
}

/// Time of one core since boot, in clock ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreTicks {
    /// Not idle and not waiting for a disk.
    pub busy: u64,
    /// All.
    pub all: u64,
}

/// Clock ticks per second.
#[must_use]
pub fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

/// CPU time of a process.
pub fn cpu_ticks(pid: u32) -> anyhow::Result<CpuTicks> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))
        .with_context(|| format!("process {pid} is gone"))?;
    parse_cpu_ticks(&stat).with_context(|| format!("/proc/{pid}/stat"))
}

/// Memory of a process.
pub fn resident(pid: u32) -> anyhow::Result<Resident> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("process {pid} is gone"))?;
    parse_resident(&status).with_context(|| format!("/proc/{pid}/status"))
}

/// All cores, in order.
pub fn core_ticks() -> anyhow::Result<Vec<CoreTicks>> {
    Ok(parse_core_ticks(&fs::read_to_string("/proc/stat")?))
}

/// The command's name may hold spaces and parentheses; the fields count from its last one.
fn parse_cpu_ticks(stat: &str) -> Option<CpuTicks> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    Some(CpuTicks { user: fields.next()?.parse().ok()?, system: fields.next()?.parse().ok()? })
}

fn parse_resident(status: &str) -> Option<Resident> {
    let bytes_of = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    };
    Some(Resident { now_bytes: bytes_of("VmRSS:")?, peak_bytes: bytes_of("VmHWM:")? })
}

fn parse_core_ticks(stat: &str) -> Vec<CoreTicks> {
    let is_core = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let ticks_of = |line: &str| {
        let fields: Vec<u64> =
            line.split_ascii_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is within user.
        let all = fields.iter().take(8).sum();
        let idle: u64 = fields.iter().skip(3).take(2).sum();
        CoreTicks { busy: all - idle, all }
    };
    stat.lines().filter(is_core).map(ticks_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_fields() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 9 0 0 0 814 125 0 0 20 0 5 0 100 1 2";
        assert_eq!(parse_cpu_ticks(stat), Some(CpuTicks { user: 814, system: 125 }));
    }

    #[test]
    fn memory_is_told_in_bytes() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let expected = Resident { now_bytes: 1 << 20, peak_bytes: 2 << 20 };
        assert_eq!(parse_resident(status), Some(expected));
        assert_eq!(parse_resident("Name:\tx\n"), None);
    }

    #[test]
    fn waiting_for_a_disk_is_idle() {
        let stat = "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 10 0 20 60 5 1 3 1 0 0\nintr 5\n";
        assert_eq!(parse_core_ticks(stat), [CoreTicks { busy: 35, all: 100 }]);
    }
}
