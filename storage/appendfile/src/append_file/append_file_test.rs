//! An append file lays out frames in order, and is closed for good after an error or an abandoned
//! call.

use super::*;
use crate::scan::{ScanEnd, TailVerdict, scan_all};
use crate::twin::{FaultyDisk, MemoryDisk, Toxic, ToxicKind, Toxics};

fn header() -> FileHeader {
    FileHeader::new(1, b"appended").unwrap()
}

fn body(text: &'static str) -> [Bytes; 1] {
    [Bytes::from_static(text.as_bytes())]
}

async fn payloads(disk: &MemoryDisk) -> (Vec<Bytes>, ScanEnd) {
    let file = disk.open("f").await.unwrap();
    let (frames, end) = scan_all(file.as_ref(), &header(), 1000).await.unwrap();
    (frames.into_iter().map(|frame| frame.payload).collect(), end)
}

#[tokio::test]
async fn frames_of_one_write_lie_one_after_another() {
    let disk = MemoryDisk::new();
    let mut file = AppendFile::create(&disk, "f", &header(), 0).await.unwrap();
    let parts = [Bytes::from_static(b"one "), Bytes::from_static(b"two")];
    let places = file
        .append_all(&[
            FrameParts { payload: &parts, covered: Covered::All },
            FrameParts { payload: &parts[1..], covered: Covered::Prefix(1) },
        ])
        .await
        .unwrap();
    assert_eq!(places[0], FramePlace { position: 64, payload_bytes: 7 });
    assert_eq!(places[0].payload_position(), 76);
    assert_eq!(places[1], FramePlace { position: 83, payload_bytes: 3 });
    assert_eq!(file.position(), 98);
    let (found, end) = payloads(&disk).await;
    assert_eq!(found, [&b"one two"[..], b"two"]);
    assert_eq!(end, ScanEnd { position: 98, verdict: TailVerdict::Clean });
}

#[tokio::test]
async fn an_empty_frame_is_refused_without_harm() {
    let disk = MemoryDisk::new();
    let mut file = AppendFile::create(&disk, "f", &header(), 0).await.unwrap();
    assert_eq!(file.append(&[]).await.unwrap_err().kind, ErrorKind::Invalid);
    assert!(!file.is_failed());
    file.append(&body("x")).await.unwrap();
}

fn faulty(kind: ToxicKind) -> (MemoryDisk, FaultyDisk, Toxics<ToxicKind>) {
    let memory = MemoryDisk::new();
    let toxics = Toxics::new(3);
    toxics.add(Toxic::always("fault", kind));
    let disk = FaultyDisk::over_memory(memory.clone(), toxics.clone());
    (memory, disk, toxics)
}

#[tokio::test]
async fn after_a_failed_sync_the_file_is_never_synced_or_written_again() {
    let (_, disk, toxics) = faulty(ToxicKind::FailSync { drop_dirty: true });
    let mut file = AppendFile::create(&disk, "f", &header(), 0).await.unwrap();
    file.append(&body("x")).await.unwrap();
    assert_eq!(file.sync().await.unwrap_err().kind, ErrorKind::Ambiguous);
    toxics.clear();
    assert!(file.is_failed());
    assert_eq!(file.sync().await.unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(file.append(&body("y")).await.unwrap_err().kind, ErrorKind::Closed);
}

#[tokio::test]
async fn after_a_failed_write_the_file_is_closed() {
    let (_, disk, toxics) = faulty(ToxicKind::Full { bytes: 100 });
    let mut file = AppendFile::create(&disk, "f", &header(), 0).await.unwrap();
    let error = file.append(&[Bytes::from(vec![1; 90])]).await.unwrap_err();
    assert!(error.full);
    toxics.clear();
    assert_eq!(file.append(&body("x")).await.unwrap_err().kind, ErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_sync_abandoned_half_way_closes_the_file() {
    let (_, disk, toxics) = faulty(ToxicKind::DelaySync { delay_ms: 1000 });
    let mut file = AppendFile::create(&disk, "f", &header(), 0).await.unwrap();
    file.append(&body("x")).await.unwrap();
    tokio::select! {
        biased;
        _ = file.sync() => unreachable!(),
        () = std::future::ready(()) => {}
    }
    toxics.clear();
    assert_eq!(file.sync().await.unwrap_err().kind, ErrorKind::Closed);
}
