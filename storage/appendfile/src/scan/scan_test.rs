//! Scans over whole, damaged, cut and crashed files: what was synced is found, the rest is judged.

use super::*;
use crate::append_file::AppendFile;
use crate::disk::Disk;
use crate::twin::{Dice, FaultyDisk, MemoryDisk, Toxic, ToxicKind, Toxics};

const MAX: u32 = 1 << 20;

fn header() -> FileHeader {
    FileHeader::new(1, b"scanned").unwrap()
}

async fn write(disk: &MemoryDisk, allocate_bytes: u64, payloads: &[Bytes]) -> AppendFile {
    let mut file = AppendFile::create(disk, "f", &header(), allocate_bytes).await.unwrap();
    for payload in payloads {
        file.append(std::slice::from_ref(payload)).await.unwrap();
    }
    file
}

async fn scan(disk: &MemoryDisk) -> (Vec<Bytes>, ScanEnd) {
    let file = disk.open("f").await.unwrap();
    assert_eq!(read_header(file.as_ref()).await.unwrap(), Ok(header()));
    let (frames, end) = scan_all(file.as_ref(), &header(), MAX).await.unwrap();
    (frames.into_iter().map(|frame| frame.payload).collect(), end)
}

/// Payloads around the window's size, so that frames cross windows and outgrow them.
fn payloads() -> Vec<Bytes> {
    let sizes = [1, 500, WINDOW_BYTES - 12, WINDOW_BYTES, 3 * WINDOW_BYTES + 7, 9, 200_000, 60_000];
    sizes.iter().enumerate().map(|(at, size)| Bytes::from(vec![at as u8 + 1; *size])).collect()
}

#[tokio::test]
async fn frames_come_back_and_the_end_is_clean() {
    for allocate_bytes in [0, 4 << 20] {
        let disk = MemoryDisk::new();
        let file = write(&disk, allocate_bytes, &payloads()).await;
        let (found, end) = scan(&disk).await;
        assert!(found == payloads());
        assert_eq!(end, ScanEnd { position: file.position(), verdict: TailVerdict::Clean });
    }
}

#[tokio::test]
async fn an_empty_file_is_clean() {
    let disk = MemoryDisk::new();
    write(&disk, 1000, &[]).await;
    let (found, end) = scan(&disk).await;
    assert!(found.is_empty());
    assert_eq!(end, ScanEnd { position: HEADER_BYTES as u64, verdict: TailVerdict::Clean });
}

#[tokio::test]
async fn a_scan_goes_on_from_a_known_frame() {
    let disk = MemoryDisk::new();
    write(&disk, 0, &payloads()).await;
    let file = disk.open("f").await.unwrap();
    let (frames, _) = scan_all(file.as_ref(), &header(), MAX).await.unwrap();
    let header = header();
    let mut scan = FrameScan::new(file.as_ref(), &header, MAX).starting_at(frames[4].position);
    assert_eq!(scan.next().await.unwrap().as_ref(), Some(&frames[4]));
    assert_eq!(scan.next().await.unwrap().as_ref(), Some(&frames[5]));
}

#[tokio::test]
async fn skimming_finds_the_same_end_without_reading_bodies() {
    for allocate_bytes in [0, 4 << 20] {
        let disk = MemoryDisk::new();
        let mut file = AppendFile::create(&disk, "f", &header(), allocate_bytes).await.unwrap();
        for (number, payload) in payloads().into_iter().enumerate() {
            let covered = crate::Covered::Prefix([10, 9000][number % 2]);
            let frame = crate::FrameParts { payload: &[payload], covered };
            file.append_all(&[frame]).await.unwrap();
        }
        let reader = disk.open("f").await.unwrap();
        let end = skim_to_end(reader.as_ref(), &header(), MAX).await.unwrap();
        assert_eq!(end, ScanEnd { position: file.position(), verdict: TailVerdict::Clean });
    }
}

#[tokio::test]
async fn skimming_stops_at_a_frame_that_is_cut() {
    let disk = MemoryDisk::new();
    write(&disk, 0, &[Bytes::from(vec![1; 9000]), Bytes::from(vec![2; 9000])]).await;
    let reader = disk.open("f").await.unwrap();
    for (length, reason) in [(9100, TornReason::PayloadCut), (9080, TornReason::HeadCut)] {
        disk.truncate("f", length).await.unwrap();
        let end = skim_to_end(reader.as_ref(), &header(), MAX).await.unwrap();
        assert_eq!(end, ScanEnd { position: 9076, verdict: TailVerdict::Torn(reason) });
    }
}

#[tokio::test]
async fn a_damaged_frame_ends_the_scan() {
    let disk = MemoryDisk::new();
    write(&disk, 0, &payloads()).await;
    let place = HEADER_BYTES as u64 + 13;
    disk.damage("f", place + 100, 1);
    let (found, end) = scan(&disk).await;
    assert_eq!(found.len(), 1);
    let verdict = TailVerdict::Torn(TornReason::ChecksumWrong);
    assert_eq!(end, ScanEnd { position: place, verdict });
}

#[tokio::test]
async fn short_reads_do_not_look_like_the_end() {
    let memory = MemoryDisk::new();
    let file = write(&memory, 1 << 20, &payloads()).await;
    let toxics = Toxics::new(1);
    toxics.add(Toxic::always("short", ToxicKind::ShortRead).at_rate(500_000));
    let disk = FaultyDisk::over_memory(memory, toxics);
    let reader = disk.open("f").await.unwrap();
    let (frames, end) = scan_all(reader.as_ref(), &header(), MAX).await.unwrap();
    assert_eq!(frames.len(), payloads().len());
    assert_eq!(end, ScanEnd { position: file.position(), verdict: TailVerdict::Clean });
    let skimmed = skim_to_end(reader.as_ref(), &header(), MAX).await.unwrap();
    assert_eq!(skimmed, end);
}

#[tokio::test]
async fn a_file_without_a_header_is_told_apart() {
    let disk = MemoryDisk::new();
    disk.create("blank", 4096).await.unwrap();
    disk.create("cut", 0).await.unwrap();
    let blank = disk.open("blank").await.unwrap();
    assert_eq!(read_header(blank.as_ref()).await.unwrap(), Err(HeaderError::Blank));
    let cut = disk.open("cut").await.unwrap();
    assert_eq!(read_header(cut.as_ref()).await.unwrap(), Err(HeaderError::Cut));
}

#[tokio::test]
async fn after_a_crash_synced_frames_are_there_and_the_rest_is_a_prefix() {
    let mut torn = 0;
    for seed in 0..300 {
        let disk = MemoryDisk::new();
        let mut dice = Dice::new(seed);
        let allocate_bytes = dice.below(3) * 8000;
        let payloads: Vec<Bytes> = (0..1 + dice.below(20))
            .map(|at| Bytes::from(vec![at as u8 + 1; 1 + dice.below(3000) as usize]))
            .collect();
        let synced = dice.below(payloads.len() as u64 + 1) as usize;
        let mut file = write(&disk, allocate_bytes, &payloads[..synced]).await;
        file.sync().await.unwrap();
        for payload in &payloads[synced..] {
            file.append(std::slice::from_ref(payload)).await.unwrap();
        }
        disk.crash(seed);
        let (found, end) = scan(&disk).await;
        assert!(found.len() >= synced, "seed {seed}: a synced frame is lost");
        assert!(found == payloads[..found.len()], "seed {seed}: a frame changed");
        torn += u32::from(end.verdict != TailVerdict::Clean);
    }
    assert!(torn > 30, "crashes tore only {torn} tails");
}
