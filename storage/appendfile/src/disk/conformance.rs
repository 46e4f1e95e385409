//! What every `Disk` does, run over each adapter.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use tidemill_base::ErrorKind;

use super::{Disk, DiskEntry, SharedDisk};
use crate::real_disk::RealDisk;
use crate::twin::{FaultyDisk, MemoryDisk, Toxics};

fn parts(texts: &[&'static str]) -> Vec<Bytes> {
    texts.iter().map(|text| Bytes::from_static(text.as_bytes())).collect()
}

async fn write(disk: &dyn Disk, path: &str, texts: &[&'static str]) {
    let mut file = disk.create(path, 0).await.unwrap();
    file.write(&parts(texts)).await.unwrap();
    file.sync().await.unwrap();
}

async fn text(disk: &dyn Disk, path: &str) -> Bytes {
    disk.open(path).await.unwrap().read(0, 1000).await.unwrap()
}

async fn writes_at_the_end_and_reads_anywhere(disk: &dyn Disk) {
    let mut file = disk.create("a/b/one", 0).await.unwrap();
    assert_eq!(file.position(), 0);
    file.write(&parts(&["he", "", "llo"])).await.unwrap();
    file.write(&parts(&["", " there"])).await.unwrap();
    file.write(&[]).await.unwrap();
    file.sync().await.unwrap();
    assert_eq!(file.position(), 11);
    let reader = disk.open("a/b/one").await.unwrap();
    assert_eq!(reader.length().await.unwrap(), 11);
    assert_eq!(&reader.read(3, 4).await.unwrap()[..], b"lo t");
    assert_eq!(&reader.read(8, 100).await.unwrap()[..], b"ere");
    assert!(reader.read(11, 4).await.unwrap().is_empty());
    assert!(reader.read(1 << 40, 4).await.unwrap().is_empty());
    assert!(reader.read(0, 0).await.unwrap().is_empty());
}

async fn a_reader_sees_what_is_written_later(disk: &dyn Disk) {
    let mut file = disk.create("later", 0).await.unwrap();
    let reader = disk.open("later").await.unwrap();
    file.write(&parts(&["x"])).await.unwrap();
    assert_eq!(&reader.read(0, 9).await.unwrap()[..], b"x");
}

async fn reserved_space_reads_as_zeros(disk: &dyn Disk) {
    let mut file = disk.create("reserved", 3_000_000).await.unwrap();
    file.write(&parts(&["abc"])).await.unwrap();
    file.sync().await.unwrap();
    assert_eq!(file.position(), 3);
    let reader = disk.open("reserved").await.unwrap();
    assert_eq!(reader.length().await.unwrap(), 3_000_000);
    assert_eq!(&reader.read(1, 4).await.unwrap()[..], b"bc\0\0");
    assert_eq!(&reader.read(2_999_998, 9).await.unwrap()[..], b"\0\0");
    file.write(&[Bytes::from(vec![7; 3_000_000])]).await.unwrap();
    assert_eq!(reader.length().await.unwrap(), 3_000_003);
    assert_eq!(&reader.read(0, 5).await.unwrap()[..], b"abc\x07\x07");
    assert_eq!(&reader.read(2_999_999, 9).await.unwrap()[..], &[7; 4]);
    file.reserve(1_000_000).await.unwrap();
    assert_eq!(reader.length().await.unwrap(), 3_000_003);
    file.reserve(4_000_000).await.unwrap();
    assert_eq!(reader.length().await.unwrap(), 4_000_000);
    assert_eq!(&reader.read(3_000_002, 3).await.unwrap()[..], b"\x07\0\0");
}

async fn many_parts_and_large_parts_are_written_whole(disk: &dyn Disk) {
    let mut expected = Vec::new();
    let mut written = Vec::new();
    for number in 0..3000_u32 {
        let part = Bytes::from(vec![number as u8; (number % 7) as usize]);
        expected.extend_from_slice(&part);
        written.push(part);
    }
    let large = Bytes::from((0..700_000_u32).map(|at| (at / 3) as u8).collect::<Vec<_>>());
    expected.extend_from_slice(&large);
    written.push(large);
    let mut file = disk.create("many", 1000).await.unwrap();
    file.write(&written).await.unwrap();
    file.sync().await.unwrap();
    assert_eq!(file.position(), expected.len() as u64);
    let reader = disk.open("many").await.unwrap();
    assert!(reader.read(0, expected.len()).await.unwrap() == expected);
}

async fn names_are_listed_renamed_and_removed(disk: &dyn Disk) {
    write(disk, "names/b", &["two"]).await;
    write(disk, "names/a", &["one"]).await;
    write(disk, "names/deeper/c", &["three"]).await;
    let entry = |name: &str, length| DiskEntry { name: name.to_owned(), length };
    let listed = disk.list("names").await.unwrap();
    assert_eq!(listed, [entry("a", 3), entry("b", 3)]);
    assert!(disk.list("nowhere").await.unwrap().is_empty());
    disk.rename("names/a", "names/b").await.unwrap();
    assert_eq!(disk.list("names").await.unwrap(), [entry("b", 3)]);
    assert_eq!(&text(disk, "names/b").await[..], b"one");
    disk.rename("names/b", "elsewhere/b").await.unwrap();
    assert_eq!(&text(disk, "elsewhere/b").await[..], b"one");
    disk.remove("elsewhere/b").await.unwrap();
    disk.remove("elsewhere/b").await.unwrap();
    assert!(disk.list("elsewhere").await.unwrap().is_empty());
    let error = disk.rename("elsewhere/b", "x").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

async fn a_file_is_created_once(disk: &dyn Disk) {
    write(disk, "once", &["x"]).await;
    let error = disk.create("once", 0).await.err().unwrap();
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert_eq!(disk.open("never").await.err().unwrap().kind, ErrorKind::NotFound);
    assert_eq!(disk.truncate("never", 0).await.unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(disk.sync_existing("never").await.unwrap_err().kind, ErrorKind::NotFound);
}

async fn a_file_is_cut(disk: &dyn Disk) {
    let mut file = disk.create("cut", 10_000).await.unwrap();
    file.write(&parts(&["abcdef"])).await.unwrap();
    drop(file);
    disk.truncate("cut", 4).await.unwrap();
    disk.sync_existing("cut").await.unwrap();
    let reader = disk.open("cut").await.unwrap();
    assert_eq!(reader.length().await.unwrap(), 4);
    assert_eq!(&reader.read(0, 99).await.unwrap()[..], b"abcd");
}

async fn a_removed_file_is_read_by_who_has_it_open(disk: &dyn Disk) {
    write(disk, "held", &["still here"]).await;
    let reader = disk.open("held").await.unwrap();
    disk.remove("held").await.unwrap();
    assert_eq!(&reader.read(0, 99).await.unwrap()[..], b"still here");
}

async fn paths_stay_within_the_directory(disk: &dyn Disk) {
    for path in ["../x", "/x", "a/../../x", "", "a//b", "."] {
        let error = disk.create(path, 0).await.err().unwrap();
        assert_eq!(error.kind, ErrorKind::Invalid, "{path}");
    }
}

async fn conforms(disk: SharedDisk) {
    let disk = disk.as_ref();
    writes_at_the_end_and_reads_anywhere(disk).await;
    a_reader_sees_what_is_written_later(disk).await;
    reserved_space_reads_as_zeros(disk).await;
    many_parts_and_large_parts_are_written_whole(disk).await;
    names_are_listed_renamed_and_removed(disk).await;
    a_file_is_created_once(disk).await;
    a_file_is_cut(disk).await;
    a_removed_file_is_read_by_who_has_it_open(disk).await;
    paths_stay_within_the_directory(disk).await;
    assert!(disk.free_bytes().await.unwrap() > 0);
}

#[tokio::test]
async fn the_real_disk_conforms() {
    let directory = tempfile::tempdir().unwrap();
    conforms(Arc::new(RealDisk::open(directory.path()).unwrap())).await;
}

#[test]
fn the_real_disk_conforms_without_a_runtime() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(directory.path()).unwrap());
    conforms(disk).now_or_never().expect("every call blocks in place");
}

#[tokio::test]
async fn the_disk_in_memory_conforms() {
    conforms(Arc::new(MemoryDisk::new())).await;
}

#[tokio::test]
async fn the_faulty_disk_without_toxics_conforms() {
    conforms(Arc::new(FaultyDisk::over_memory(MemoryDisk::new(), Toxics::new(1)))).await;
    let directory = tempfile::tempdir().unwrap();
    let real = Arc::new(RealDisk::open(directory.path()).unwrap());
    conforms(Arc::new(FaultyDisk::new(real, Toxics::new(1)))).await;
}
