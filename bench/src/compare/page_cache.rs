//! Fills the page cache before a run, as that of any machine is that has been up for a day.
//!
//! A virtual machine gives free memory back to its host. Touching a page for the first time after that
//! costs a fault in the host, which the guest sees as system time of whoever copies into the page: up to
//! 2 s per GiB where this was found, several times what a broker costs by itself, and for the first
//! 20 GiB written only. With a page cache that is full the kernel reuses pages instead.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Free memory that is left over; the kernel keeps some for itself anyhow.
const FREE_BYTES_LEFT: u64 = 512 << 20;

/// Read at a time.
const CHUNK_BYTES: u64 = 1 << 20;

/// Between two looks at how much memory is free.
const LOOK_EVERY_BYTES: u64 = 64 << 20;

/// A file without blocks, whose pages are ballast in the page cache. Every page is read once: pages
/// read twice would count as wanted, and brokers' pages would be given up before them.
#[derive(Debug)]
pub struct PageCache {
    ballast: File,
    read_bytes: u64,
}

impl PageCache {
    /// Makes the file in `folder`, which is to be on a disk: file systems in memory keep no pages of
    /// holes. It has no name any more afterwards, so that nothing stays whatever ends this process.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(format!("ballast-{}", std::process::id()));
        let ballast =
            File::options().create(true).truncate(true).read(true).write(true).open(&path)?;
        fs::remove_file(&path)?;
        Ok(Self { ballast, read_bytes: 0 })
    }

    /// Reads on until little memory is free, but no more than there is of it. Answers how many bytes
    /// are free then.
    pub fn fill(&mut self) -> io::Result<u64> {
        let mut chunk = vec![0; usize::try_from(CHUNK_BYTES).unwrap_or(usize::MAX)];
        let limit = self.read_bytes + memory_bytes("MemTotal")?;
        let mut free_bytes = memory_bytes("MemFree")?;
        while free_bytes > FREE_BYTES_LEFT && self.read_bytes < limit {
            let until = self.read_bytes + LOOK_EVERY_BYTES;
            self.ballast.set_len(until)?;
            while self.read_bytes < until {
                self.ballast.read_exact(&mut chunk)?;
                self.read_bytes += CHUNK_BYTES;
            }
            free_bytes = memory_bytes("MemFree")?;
        }
        Ok(free_bytes)
    }
}

/// A line of `/proc/meminfo`, in bytes.
fn memory_bytes(name: &str) -> io::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|value| value.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| io::Error::other(format!("no {name} in /proc/meminfo")))
}
