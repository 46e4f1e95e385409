//! Each toxic does what its name says, at its rate and target, over memory and over a real disk.

use tokio::time::Instant;

use super::*;
use crate::real_disk::RealDisk;
use crate::twin::toxic::Toxic;

fn faulty(toxics: &Toxics<ToxicKind>) -> (MemoryDisk, FaultyDisk) {
    let memory = MemoryDisk::new();
    (memory.clone(), FaultyDisk::over_memory(memory, toxics.clone()))
}

async fn file(disk: &FaultyDisk) -> Box<dyn WriteFile> {
    disk.create("log/f", 0).await.unwrap()
}

#[tokio::test]
async fn a_failed_write_may_have_taken_some_bytes() {
    let toxics = Toxics::new(1);
    let (memory, disk) = faulty(&toxics);
    let mut written = file(&disk).await;
    toxics.add(Toxic::always("write", ToxicKind::FailWrite));
    let error = written.write(&[Bytes::from(vec![1; 100])]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Ambiguous);
    assert_eq!(toxics.struck("write"), 1);
    let length = memory.open("log/f").await.unwrap().length().await.unwrap();
    assert!(length < 100);
}

#[tokio::test]
async fn a_failed_sync_drops_the_dirty_pages() {
    let toxics = Toxics::new(1);
    let (memory, disk) = faulty(&toxics);
    let mut written = file(&disk).await;
    written.write(&[Bytes::from(vec![1; 3000])]).await.unwrap();
    toxics.add(Toxic::always("sync", ToxicKind::FailSync { drop_dirty: true }));
    assert!(written.sync().await.is_err());
    toxics.clear();
    written.sync().await.unwrap();
    let mut lost = false;
    for seed in 0..20 {
        memory.crash(seed);
        let reader = memory.open("log/f").await.unwrap();
        lost |= reader.read(0, 3000).await.unwrap().contains(&0);
    }
    assert!(lost);
}

#[tokio::test]
async fn toxics_strike_only_their_target_and_at_their_rate() {
    let toxics = Toxics::new(7);
    let (_, disk) = faulty(&toxics);
    let mut written = file(&disk).await;
    toxics.add(Toxic::always("other", ToxicKind::FailWrite).only_at("raft/"));
    toxics.add(Toxic::always("rare", ToxicKind::FailSync { drop_dirty: false }).at_rate(200_000));
    let mut failed = 0;
    for _ in 0..1000 {
        written.write(&[Bytes::from_static(b"x")]).await.unwrap();
        failed += u64::from(written.sync().await.is_err());
    }
    assert_eq!(toxics.struck("other"), 0);
    assert_eq!(toxics.struck("rare"), failed);
    assert!((150..250).contains(&failed), "{failed}");
}

#[tokio::test]
async fn a_byte_budget_fills_the_disk() {
    let toxics = Toxics::new(1);
    let (_, disk) = faulty(&toxics);
    let mut written = file(&disk).await;
    toxics.add(Toxic::always("full", ToxicKind::Full { bytes: 10 }));
    written.write(&[Bytes::from_static(b"0123456789")]).await.unwrap();
    assert!(written.write(&[Bytes::from_static(b"x")]).await.unwrap_err().full);
    assert!(disk.create("log/g", 0).await.err().unwrap().full);
    assert_eq!(disk.free_bytes().await.unwrap(), 0);
    toxics.remove("full");
    written.write(&[Bytes::from_static(b"x")]).await.unwrap();
}

#[tokio::test]
async fn reads_fail_fall_short_and_flip_bits() {
    let toxics = Toxics::new(5);
    let (_, disk) = faulty(&toxics);
    file(&disk).await.write(&[Bytes::from(vec![0; 100])]).await.unwrap();
    let reader = disk.open("log/f").await.unwrap();
    toxics.add(Toxic::always("read", ToxicKind::FailRead));
    assert_eq!(reader.read(0, 10).await.unwrap_err().kind, ErrorKind::Retry);
    toxics.clear();
    toxics.add(Toxic::always("short", ToxicKind::ShortRead));
    assert!((1..10).contains(&reader.read(0, 10).await.unwrap().len()));
    toxics.clear();
    toxics.add(Toxic::always("flip", ToxicKind::FlipBit));
    let bytes = reader.read(0, 10).await.unwrap();
    assert_eq!(bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
}

#[tokio::test(start_paused = true)]
async fn delays_wait_on_the_clock_of_the_simulation() {
    let toxics = Toxics::new(1);
    let (_, disk) = faulty(&toxics);
    let mut written = file(&disk).await;
    toxics.add(Toxic::always("sync", ToxicKind::DelaySync { delay_ms: 30 }));
    toxics.add(Toxic::always("write", ToxicKind::DelayWrite { delay_ms: 5 }));
    let start = Instant::now();
    written.write(&[Bytes::from_static(b"x")]).await.unwrap();
    written.sync().await.unwrap();
    assert_eq!(start.elapsed().as_millis(), 35);
}

#[test]
fn a_real_disk_is_padded_on_a_thread_with_a_clock_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let toxics = Toxics::new(1);
    toxics.add(Toxic::always("sync", ToxicKind::DelaySync { delay_ms: 2 }));
    let real = Arc::new(RealDisk::open(directory.path()).unwrap());
    let disk = FaultyDisk::new(real, toxics.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut written = file(&disk).await;
        written.write(&[Bytes::from_static(b"x")]).await.unwrap();
        written.sync().await.unwrap();
    });
    assert_eq!(toxics.struck("sync"), 1);
}
