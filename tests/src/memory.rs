//! Memory and descriptors of processes, as the kernel tells them.

use std::fs;

/// What a process holds and has held, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resident {
    /// Now (`VmRSS`).
    pub now_bytes: u64,
    /// At most, since it began (`VmHWM`).
    pub peak_bytes: u64,
}

impl Resident {
    /// Of this process. Zeros where the kernel does not tell.
    #[must_use]
    pub fn own() -> Self {
        Self::read("/proc/self/status")
    }

    /// Of another process. Zeros if it is gone.
    #[must_use]
    pub fn of(pid: u32) -> Self {
        Self::read(&format!("/proc/{pid}/status"))
    }

    fn read(path: &str) -> Self {
        Self::parse(&fs::read_to_string(path).unwrap_or_default())
    }

    fn parse(status: &str) -> Self {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
        };
        let bytes = |name| field(name).unwrap_or(0) << 10;
        Self { now_bytes: bytes("VmRSS:"), peak_bytes: bytes("VmHWM:") }
    }
}

/// Bytes in MiB, for people.
#[must_use]
pub fn mib(bytes: u64) -> u64 {
    bytes >> 20
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_understood() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let expected = Resident { now_bytes: 1 << 20, peak_bytes: 2 << 20 };
        assert_eq!(Resident::parse(status), expected);
        assert_eq!(Resident::parse(""), Resident::default());
    }
}
