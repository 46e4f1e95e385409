//! The CPU floor: a bare program of one thread, on the brokers' core, over loopback.
//!
//! The program is this binary again, started as `floor-serve`, so that its CPU time is read exactly
//! as a broker's is. Receiving: a chunk is read, summed with CRC-32C, appended to a zeroed file and
//! synced. Sending: a chunk goes out of memory, or ranges of a file out of its pages.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::Context;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, SECOND_NS, own_cpu_ns};
use crate::driver::flow::GIB;
use crate::floor::disk::{Preparation, prepared_file};
use crate::floor::send_file;
use crate::pin::pinned_command;
use crate::proc_stat::{cpu_ticks, ticks_per_second};

/// The bare program starts again at the file's first byte after this.
const FILE_BYTES: u64 = 1 << 30;

/// What the bare program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Receive, sum, append, sync after every chunk.
    ReceiveAndSync,
    /// Receive, sum, append, no sync: what Kafka does.
    ReceiveUnsynced,
    /// Send from memory.
    Send,
    /// Send answers of 1 MiB from a file's pages, made of ranges of a chunk (`send_file.rs`).
    SendFile,
}

impl Task {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::ReceiveAndSync, Self::ReceiveUnsynced, Self::Send, Self::SendFile];

    /// The chunks it is measured with, in bytes.
    #[must_use]
    pub fn chunks_bytes(self) -> [u64; 2] {
        match self {
            // The range of a partition in an object of sixteen, and a whole answer.
            Self::SendFile => [80 << 10, 1 << 20],
            _ => [16 << 10, 256 << 10],
        }
    }
}

/// What the bare program used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CpuFloor {
    /// What it did.
    pub task: Task,
    /// Bytes per chunk.
    pub chunk_bytes: u64,
    /// Bytes that went through per second.
    pub bytes_per_second: f64,
    /// CPU seconds per GiB in its own code.
    pub user_seconds_per_gib: f64,
    /// CPU seconds per GiB in the kernel.
    pub system_seconds_per_gib: f64,
    /// The other side's CPU time as a share of the time.
    pub driver_busy: f64,
}

/// Runs the bare program on core `core` for `measure_ns` and says what it used.
pub fn measure(
    task: Task,
    chunk_bytes: u64,
    core: usize,
    folder: &Path,
    measure_ns: u64,
) -> anyhow::Result<CpuFloor> {
    let (mut program, address) = start_program(task, chunk_bytes, core, folder)?;
    let measured = drive(task, chunk_bytes, program.id(), address, measure_ns);
    program.kill()?;
    program.wait()?;
    measured
}

fn start_program(
    task: Task,
    chunk_bytes: u64,
    core: usize,
    folder: &Path,
) -> anyhow::Result<(Child, SocketAddr)> {
    let name = task.to_possible_value().context("a task has a name")?;
    let mut program = pinned_command(core, std::env::current_exe()?.as_os_str())
        .arg("floor-serve")
        .arg(name.get_name())
        .args(["--chunk-bytes", &chunk_bytes.to_string(), "--folder"])
        .arg(folder)
        .stdout(Stdio::piped())
        .spawn()
        .context("start the bare program")?;
    let mut line = String::new();
    let stdout = program.stdout.take().context("the bare program's output")?;
    BufReader::new(stdout).read_line(&mut line)?;
    Ok((program, line.trim().parse().context("the bare program's address")?))
}

fn drive(
    task: Task,
    chunk_bytes: u64,
    pid: u32,
    address: SocketAddr,
    measure_ns: u64,
) -> anyhow::Result<CpuFloor> {
    let stream = TcpStream::connect(address)?;
    let before = cpu_ticks(pid)?;
    let (clock, own_before_ns) = (Clock::start(), own_cpu_ns());
    let bytes = match task {
        Task::SendFile => send_file::drive(stream, address, measure_ns)?,
        _ => exchange(task, chunk_bytes, stream, measure_ns)?,
    };
    let (elapsed_ns, own_ns) = (clock.now_ns(), own_cpu_ns() - own_before_ns);
    let after = cpu_ticks(pid)?;
    let gib = bytes as f64 / GIB;
    let seconds_per_gib = |ticks: u64| ticks as f64 / ticks_per_second() / gib;
    Ok(CpuFloor {
        task,
        chunk_bytes,
        bytes_per_second: bytes as f64 / elapsed_ns as f64 * SECOND_NS as f64,
        user_seconds_per_gib: seconds_per_gib(after.user - before.user),
        system_seconds_per_gib: seconds_per_gib(after.system - before.system),
        driver_busy: own_ns as f64 / elapsed_ns as f64,
    })
}

/// Sends, or receives, for `measure_ns`; answers how many bytes went through.
fn exchange(
    task: Task,
    chunk_bytes: u64,
    mut stream: TcpStream,
    measure_ns: u64,
) -> anyhow::Result<u64> {
    let mut chunk = vec![0x5A; usize::try_from(chunk_bytes)?];
    let (clock, mut bytes) = (Clock::start(), 0);
    while clock.now_ns() < measure_ns {
        if task == Task::Send {
            bytes += stream.read(&mut chunk)? as u64;
        } else {
            stream.write_all(&chunk)?;
            bytes += chunk_bytes;
        }
    }
    Ok(bytes)
}

/// The bare program itself: serves its connections and ends with them.
pub fn serve(task: Task, chunk_bytes: u64, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join("floor-serve");
    let file = prepared_file(&path, Preparation::Zeroed)?;
    std::fs::remove_file(&path)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    stdout.flush()?;
    let (stream, _) = listener.accept()?;
    let chunk = vec![0x5A; usize::try_from(chunk_bytes)?];
    match task {
        Task::Send => send(stream, &chunk),
        Task::SendFile => send_file::serve(&listener, stream, &file, chunk.len()),
        Task::ReceiveAndSync => receive(stream, chunk, &file, true),
        Task::ReceiveUnsynced => receive(stream, chunk, &file, false),
    }
}

fn send(mut stream: TcpStream, chunk: &[u8]) -> anyhow::Result<()> {
    loop {
        stream.write_all(chunk)?;
    }
}

fn receive(
    mut stream: TcpStream,
    mut chunk: Vec<u8>,
    file: &File,
    synced: bool,
) -> anyhow::Result<()> {
    let chunk_bytes = chunk.len() as u64;
    let mut position = 0;
    let mut sums = 0u32;
    loop {
        stream.read_exact(&mut chunk)?;
        sums ^= std::hint::black_box(crc32c::crc32c(&chunk)) ^ sums.rotate_left(1);
        file.write_all_at(&chunk, position)?;
        if synced {
            file.sync_data()?;
        }
        position = (position + chunk_bytes) % FILE_BYTES;
    }
}
