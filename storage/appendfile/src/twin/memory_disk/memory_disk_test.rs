//! What a crash keeps and loses of a file, and that the same seed loses the same.

use super::*;

async fn written(disk: &MemoryDisk, bytes: usize, synced: usize) -> Box<dyn WriteFile> {
    let mut file = disk.create("f", 0).await.unwrap();
    file.write(&[Bytes::from(vec![1; synced])]).await.unwrap();
    file.sync().await.unwrap();
    file.write(&[Bytes::from(vec![2; bytes - synced])]).await.unwrap();
    file
}

async fn content(disk: &MemoryDisk) -> Bytes {
    disk.open("f").await.unwrap().read(0, 1 << 20).await.unwrap()
}

#[tokio::test]
async fn a_crash_keeps_what_was_synced_and_any_part_of_the_rest() {
    let (mut none, mut all, mut holes, mut short) = (0, 0, 0, 0);
    for seed in 0..400 {
        let disk = MemoryDisk::new();
        written(&disk, 5000, 700).await;
        disk.crash(seed);
        let found = content(&disk).await;
        assert!(found.len() >= 700 && found[..700].iter().all(|byte| *byte == 1));
        assert!(found[700..].iter().all(|byte| [0, 2].contains(byte)));
        let kept = found[700..].iter().filter(|byte| **byte == 2).count();
        none += u32::from(kept == 0);
        all += u32::from(kept == 4300);
        holes += u32::from(found[700..].windows(2).any(|pair| pair == [0, 2]));
        short += u32::from(found.len() < 5000);
    }
    assert!(none > 20 && holes > 20 && short > 20, "{none} {all} {holes} {short}");
}

#[tokio::test]
async fn a_kill_keeps_every_byte_written() {
    let disk = MemoryDisk::new();
    let mut file = written(&disk, 5000, 700).await;
    let reader = disk.open("f").await.unwrap();
    disk.kill();
    assert_eq!(file.sync().await.unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(file.write(&[]).await.unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(reader.read(0, 1).await.unwrap_err().kind, ErrorKind::Closed);
    assert_eq!(content(&disk).await.len(), 5000);
}

#[tokio::test]
async fn pages_dropped_by_a_failed_sync_are_lost_although_a_later_sync_succeeds() {
    let mut lost = 0;
    for seed in 0..50 {
        let disk = MemoryDisk::new();
        let mut file = written(&disk, 5000, 700).await;
        disk.drop_dirty("f");
        file.sync().await.unwrap();
        assert_eq!(content(&disk).await[4999], 2);
        disk.crash(seed);
        lost += u32::from(content(&disk).await.contains(&0));
    }
    assert!(lost > 10);
}

#[tokio::test]
async fn a_full_disk_takes_no_more_until_something_goes() {
    let disk = MemoryDisk::with_capacity(1000);
    let mut file = disk.create("a", 600).await.unwrap();
    assert!(disk.create("b", 500).await.err().unwrap().full);
    file.write(&[Bytes::from(vec![1; 600])]).await.unwrap();
    assert!(file.write(&[Bytes::from(vec![1; 401])]).await.unwrap_err().full);
    assert_eq!(disk.free_bytes().await.unwrap(), 400);
    disk.remove("a").await.unwrap();
    assert_eq!(disk.free_bytes().await.unwrap(), 1000);
}

#[tokio::test]
async fn the_same_seed_loses_the_same_bytes() {
    let run = async |seed| {
        let disk = MemoryDisk::new();
        written(&disk, 9000, 10).await;
        disk.crash(seed);
        content(&disk).await
    };
    for seed in 0..20 {
        assert_eq!(run(seed).await, run(seed).await);
    }
}
