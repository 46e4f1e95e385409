//! What only the real disk does: its lock, zeros ahead, reads in place and beside, a reservation
//! that fails.

use bytes::Bytes;

use super::*;

#[test]
fn a_second_holder_is_refused_by_name_of_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let first = RealDisk::open(directory.path()).unwrap();
    let error = RealDisk::open(directory.path()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    let holder = format!("is in use by process {}", std::process::id());
    assert!(error.reason.ends_with(&holder), "{}", error.reason);
    drop(first);
    RealDisk::open(directory.path()).unwrap();
}

#[tokio::test]
async fn an_open_file_keeps_the_directory_held() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let file = disk.create("f", 0).await.unwrap();
    drop(disk);
    assert!(RealDisk::open(directory.path()).is_err());
    drop(file);
    RealDisk::open(directory.path()).unwrap();
}

#[tokio::test]
async fn small_writes_with_zeros_ahead_stay_within_the_reserved_space() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let mut file = disk.create("f", 10_000).await.unwrap();
    let mut expected = Vec::new();
    for number in 1..=5_u8 {
        file.write(&[Bytes::from(vec![number; 3000])]).await.unwrap();
        file.sync().await.unwrap();
        expected.extend(vec![number; 3000]);
    }
    let reader = disk.open("f").await.unwrap();
    assert!(reader.read(0, 20_000).await.unwrap() == expected);
}

#[tokio::test]
async fn reads_larger_than_those_in_place_come_whole() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let mut file = disk.create("f", 0).await.unwrap();
    let body: Vec<u8> = (0..900_000_u32).map(|at| (at % 251) as u8).collect();
    file.write(&[Bytes::from(body.clone())]).await.unwrap();
    let reader = disk.open("f").await.unwrap();
    assert!(reader.read(5, 800_000).await.unwrap() == body[5..800_005]);
}

#[tokio::test]
async fn more_than_the_disk_has_cannot_be_reserved() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let free = disk.free_bytes().await.unwrap();
    let error = disk.create("f", free.saturating_mul(3)).await.err().unwrap();
    assert!(error.full, "{error}");
    assert!(disk.list("").await.unwrap().iter().all(|entry| entry.name != "f"));
}
