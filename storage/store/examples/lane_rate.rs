//! Measures one lane of append files: `lane_rate DIRECTORY [OBJECT_BYTES] [OBJECTS]` puts objects one
//! after another, each in 16 KiB parts, and prints rate, latency and CPU per GiB.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures the real world"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tidemill_appendfile::RealDisk;
use tidemill_base::ports::{BoxFuture, Spawn};
use tidemill_base::{Incarnation, LaneKey, LaneSequence, ObjectId};
use tidemill_storage_store::{FileLogConfig, FileLogStore, LogStore, StoreError};

struct Threads(tokio::runtime::Handle);

impl Spawn for Threads {
    fn task(&self, _name: &'static str, task: BoxFuture<'static, ()>) {
        self.0.spawn(task);
    }

    fn dedicated(&self, _name: &'static str, task: BoxFuture<'static, ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        std::thread::spawn(move || runtime.map(|runtime| runtime.block_on(task)));
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StoreError> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "/tmp/lane-rate".to_owned());
    let mut number = |or: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(or);
    let (object_bytes, objects) = (number(256 * 1024), number(2000));
    let disk = RealDisk::open(Path::new(&directory))
        .map_err(|error| StoreError::from_disk("open", directory, error))?;
    let threads = Arc::new(Threads(tokio::runtime::Handle::current()));
    let store = FileLogStore::open(Arc::new(disk), threads, FileLogConfig::default()).await?;
    let part = Bytes::from(vec![0x5A; 16 * 1024]);
    let parts = vec![part; object_bytes.div_ceil(16 * 1024)];
    let mut micros = Vec::with_capacity(objects);
    let mut files = Vec::new();
    let (start, cpu_start) = (Instant::now(), cpu_ticks());
    for sequence in 1..=objects as u64 {
        let object = ObjectId {
            incarnation: Incarnation(1),
            lane: LaneKey::default(),
            sequence: LaneSequence(sequence),
        };
        let put = Instant::now();
        files.push(store.put(object, parts.clone()).await?.file);
        micros.push(put.elapsed().as_micros());
    }
    let (seconds, ticks) = (start.elapsed().as_secs_f64(), cpu_ticks() - cpu_start);
    micros.sort_unstable();
    let gib = (parts.len() * 16 * 1024 * objects) as f64 / (1 << 30) as f64;
    println!(
        "{objects} objects of {object_bytes} bytes: {:.0} MiB/s, p50 {} us, p99 {} us, \
         CPU {:.2} s/GiB",
        gib * 1024.0 / seconds,
        micros[micros.len() / 2],
        micros[micros.len() * 99 / 100],
        ticks as f64 / 100.0 / gib
    );
    files.dedup();
    for file in files {
        store.delete(file).await?;
    }
    Ok(())
}

/// The CPU time of this process, user and kernel, in hundredths of a second.
fn cpu_ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    ticks(11) + ticks(12)
}
