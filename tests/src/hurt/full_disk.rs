//! A full disk, on a small mount: producers get errors that they retry, consumers go on, and once
//! records are deleted produce works again, without a restart.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use tidemill_kafka::ErrorCode;
use tidemill_records::{BatchBuilder, Codec, Compressor};

use crate::calls;
use crate::chance::Chance;
use crate::report::Report;
use crate::server::{Server, ServerPlan};
use crate::wire::Wire;

const MOUNT_MIB: u32 = 300;
const BATCH_BYTES: usize = 256 << 10;
const KEPT_BATCHES: i64 = 40;
/// More than the mount holds.
const FILL_BATCHES_MAX: usize = (MOUNT_MIB as usize + 100) * 4;
/// So long deletion may take to give space back.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(90);

/// Small files, a short grace: space comes back soon.
const SETTINGS: &[&str] = &[
    "log.file_bytes_max=16777216",
    "log.file_reserve_bytes=4194304",
    "log.flush_timeout_ms=1000",
    "log.gc_grace_ms=4000",
    "log.housekeeping_interval_ms=300",
    "metadata.log_segment_bytes=1048576",
    "metadata.log_kept_bytes=0",
];

/// A small mount, gone when dropped.
struct Mount(PathBuf);

impl Mount {
    fn make(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).context("create the mount point")?;
        let size = format!("size={MOUNT_MIB}m");
        let made = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tidemill-hurt"])
            .arg(folder)
            .output()
            .context("mount")?;
        if !made.status.success() {
            bail!("{}", String::from_utf8_lossy(&made.stderr).trim());
        }
        Ok(Self(folder.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // If it stays, the kernel still frees it with the last process that uses it.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Fills a disk and frees it again, by deletion, and by whoever else filled it.
pub(super) fn run(program: &Path, folder: &Path, report: &mut Report) -> Result<()> {
    let mount = match Mount::make(&folder.join("disk")) {
        Ok(mount) => mount,
        Err(error) => {
            report.skip("full disk", format_args!("no small disk can be mounted: {error:#}"));
            return Ok(());
        }
    };
    let mut plan = ServerPlan::new(program, folder)?.data_in(&mount.0.join("data"));
    for setting in SETTINGS {
        plan = plan.set(setting);
    }
    let server = plan.start()?;
    let mut wire = Wire::connect(plan.kafka())?;
    calls::create_topic(&mut wire, "fill", 1, &[])?;
    calls::create_topic(&mut wire, "keep", 1, &[])?;
    let batch = batch()?;
    for _ in 0..KEPT_BATCHES {
        let answer = produce(&mut wire, "keep", &batch)?;
        ensure!(answer == ErrorCode::NONE, "fill the topic that is kept: {answer}");
    }
    let mut disk = Disk { plan, server: Some(server), wire, batch, mount };
    report.check("a disk that fills up", disk.fill());
    report.check("consumers of a full disk", disk.consumers_go_on());
    report.check("kill -9 and start on a full disk", disk.kill_and_start());
    report.check("deletion frees a full disk", disk.delete_and_recover());
    report.check("a disk filled by another", disk.filled_by_another());
    report.check("consumers in the end", disk.consumers_go_on());
    Ok(())
}

fn batch() -> Result<Bytes> {
    let mut value = vec![0; BATCH_BYTES];
    Chance::new(12).fill(&mut value);
    let mut builder = BatchBuilder::new(Codec::None);
    builder.append_value(calls::now(), None, Some(&value))?;
    builder.finish(&mut Compressor::default()).context("build a batch")
}

fn produce(wire: &mut Wire, topic: &str, batch: &Bytes) -> Result<ErrorCode> {
    let request = calls::produce_request(topic, 0, Some(batch.clone()));
    Ok(calls::produce(wire, &request)?.error_code)
}

/// A server on a small disk.
struct Disk {
    plan: ServerPlan,
    server: Option<Server>,
    wire: Wire,
    batch: Bytes,
    mount: Mount,
}

impl Disk {
    /// Produces until that is refused, which must be with an error that clients retry.
    fn fill(&mut self) -> Result<String> {
        for stored in 0..FILL_BATCHES_MAX {
            match produce(&mut self.wire, "fill", &self.batch)? {
                ErrorCode::NONE => {}
                code => {
                    ensure!(code.is_retriable(), "refused with {code}, which clients do not retry");
                    ensure!(stored > 100, "refused after {stored} batches already: {code}");
                    let mib = (stored * BATCH_BYTES) >> 20;
                    return Ok(format!("{code} after {mib} MiB of {MOUNT_MIB}"));
                }
            }
        }
        bail!("never refused, though the disk holds {MOUNT_MIB} MiB only")
    }

    /// All that was stored is there, from its first record, and the metadata takes changes.
    fn consumers_go_on(&mut self) -> Result<String> {
        let mut offset = 0;
        while offset < KEPT_BATCHES {
            let request = calls::fetch_request("keep", 0, offset, 1 << 20);
            let data = calls::fetch(&mut self.wire, &request)?;
            ensure!(data.error_code.is_ok(), "fetch at {offset}: {}", data.error_code);
            let records = data.records.unwrap_or_default().to_bytes();
            let mut batches = 0;
            for batch in tidemill_records::batches(&records) {
                batch?.view().verify_crc()?;
                batches += 1;
            }
            ensure!(batches > 0, "nothing at {offset} of {KEPT_BATCHES}");
            offset += batches;
        }
        Ok(format!("{offset} batches read"))
    }

    fn kill_and_start(&mut self) -> Result<String> {
        let server = self.server.take().context("there is no server")?;
        server.kill()?;
        let server = self.plan.start()?;
        let ready = server.ready_after();
        self.server = Some(server);
        self.wire = Wire::connect(self.plan.kafka())?;
        self.consumers_go_on()?;
        Ok(format!("ready in {ready:.0?}"))
    }

    fn delete_and_recover(&mut self) -> Result<String> {
        calls::delete_all_records(&mut self.wire, "fill", 0)?;
        let (waited, refused) = self.wait_for_room()?;
        Ok(format!("produce works again after {waited:.1?}, refused {refused} times meanwhile"))
    }

    /// Fills the disk to the last byte with a file of its own; then takes the file away.
    fn filled_by_another(&mut self) -> Result<String> {
        let path = self.mount.0.join("filler");
        let mut filler = File::create(&path).context("create the filler")?;
        let mut filled = 0_u64;
        for bytes in [1 << 20, 4 << 10] {
            let chunk = vec![1; bytes];
            while filler.write_all(&chunk).is_ok() {
                filled += bytes as u64;
            }
        }
        let (mut refused, mut stored) = (0, 0);
        let begun = Instant::now();
        // Space that was reserved before may still be used; then it must be refused.
        while refused < 5 {
            match produce(&mut self.wire, "fill", &self.batch)? {
                ErrorCode::NONE => stored += 1,
                code => {
                    let may_retry = code.is_retriable() || code == ErrorCode::REQUEST_TIMED_OUT;
                    ensure!(may_retry, "refused with {code}, which clients do not retry");
                    refused += 1;
                }
            }
            ensure!(begun.elapsed() < RECOVERY_TIMEOUT, "never refused on a full disk");
        }
        self.consumers_go_on().context("while the disk is full")?;
        drop(filler);
        fs::remove_file(&path).context("remove the filler")?;
        let (waited, _) = self.wait_for_room()?;
        Ok(format!(
            "{} MiB filled, {stored} batches still stored, works again after {waited:.1?}",
            filled >> 20
        ))
    }

    /// Produces until that works.
    fn wait_for_room(&mut self) -> Result<(Duration, u64)> {
        let (begun, mut refused) = (Instant::now(), 0);
        loop {
            match produce(&mut self.wire, "fill", &self.batch)? {
                ErrorCode::NONE => return Ok((begun.elapsed(), refused)),
                code => ensure!(
                    code.is_retriable() || code == ErrorCode::REQUEST_TIMED_OUT,
                    "refused with {code}, which clients do not retry"
                ),
            }
            refused += 1;
            ensure!(
                begun.elapsed() < RECOVERY_TIMEOUT,
                "still refused {RECOVERY_TIMEOUT:?} after there is room again"
            );
            thread::sleep(Duration::from_millis(100));
        }
    }
}
