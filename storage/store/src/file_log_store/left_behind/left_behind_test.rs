//! What is cut, what is only counted, and which files are looked at.

use std::sync::Arc;

use bytes::Bytes;
use tidemill_appendfile::twin::MemoryDisk;
use tidemill_appendfile::{AppendFile, Covered, FrameParts};

use super::*;

const PATH: &str = "log/1-1-1-0-f1.log";

/// A file with three frames of 600 bytes, of which 100 are covered, and where each ends.
async fn written(disk: &SharedDisk, reserve_bytes: u64) -> Vec<u64> {
    let header = FileHeader::new(1, b"left behind").unwrap();
    let mut file = AppendFile::create(disk.as_ref(), PATH, &header, reserve_bytes).await.unwrap();
    let payload = [Bytes::from(vec![7; 100]), Bytes::from(vec![8; 500])];
    let mut ends = Vec::new();
    for _ in 0..3 {
        let frame = FrameParts { payload: &payload, covered: Covered::Prefix(100) };
        file.append_all(&[frame]).await.unwrap();
        ends.push(file.position());
    }
    file.sync().await.unwrap();
    ends
}

fn disks() -> (MemoryDisk, SharedDisk) {
    let memory = MemoryDisk::new();
    (memory.clone(), Arc::new(memory))
}

async fn length(disk: &SharedDisk) -> u64 {
    disk.open(PATH).await.unwrap().length().await.unwrap()
}

#[tokio::test]
async fn an_object_that_was_never_finished_is_cut_and_counted() {
    for left in [1, 11, 112, 113, 400, 611] {
        let (_, disk) = disks();
        let ends = written(&disk, 0).await;
        let torn = ends[1] + left;
        disk.truncate(PATH, torn).await.unwrap();
        let tail = trim(&disk, PATH, true).await.unwrap().unwrap();
        assert_eq!(tail, Tail { length: torn, cut_to: ends[1], torn_bytes: left });
        assert_eq!(length(&disk).await, ends[1]);
        assert_eq!(trim(&disk, PATH, true).await.unwrap(), None);
    }
}

#[tokio::test]
async fn an_object_torn_within_what_its_checksum_covers_is_counted_and_left() {
    for left in [12, 111] {
        let (_, disk) = disks();
        let ends = written(&disk, 0).await;
        let torn = ends[1] + left;
        disk.truncate(PATH, torn).await.unwrap();
        let tail = trim(&disk, PATH, true).await.unwrap().unwrap();
        assert_eq!(tail, Tail { length: torn, cut_to: torn, torn_bytes: left });
        assert_eq!(length(&disk).await, torn);
    }
}

#[tokio::test]
async fn reserved_space_is_given_back_whichever_file_it_is() {
    let (_, disk) = disks();
    let ends = written(&disk, 1 << 20).await;
    let tail = trim(&disk, PATH, false).await.unwrap().unwrap();
    assert_eq!(tail, Tail { length: 1 << 20, cut_to: ends[2], torn_bytes: 0 });
    assert_eq!(length(&disk).await, ends[2]);
}

#[tokio::test]
async fn what_lies_behind_a_damaged_head_is_never_cut() {
    for reserve_bytes in [0, 1 << 20] {
        let (memory, disk) = disks();
        let ends = written(&disk, reserve_bytes).await;
        let before = length(&disk).await;
        // Its length, its covered bytes, its checksum.
        for at in [0, 3, 4, 8] {
            memory.damage(PATH, ends[0] + at, 0x40);
            let tail = trim(&disk, PATH, true).await.unwrap().unwrap();
            assert_eq!(tail.torn_bytes, ends[2] - ends[0]);
            assert_eq!(length(&disk).await, before);
            memory.damage(PATH, ends[0] + at, 0x40);
        }
    }
}

#[test]
fn the_last_files_of_the_last_lives_are_looked_at() {
    let names = [
        "1-1-3-0-f1.log",
        "1-1-3-1-f9.log",
        "1-1-2-0-f1.log",
        "1-1-2-0-f2.log",
        "1-1-2-0-f10.log",
        "1-1-1-0-f5.log",
        "1-2-1-0-f1.log",
        "other",
    ];
    let found = last_files(&names.map(str::to_owned));
    let expected = [names[0], names[1], names[3], names[4], names[6]];
    assert_eq!(found, expected.map(str::to_owned).into());
}
