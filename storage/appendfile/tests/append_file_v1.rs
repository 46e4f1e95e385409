//! Version 1 of the append-file format is read for ever. The fixture was computed by a program apart
//! from this crate, from docs/formats/append-file.md.

use std::path::Path;

use bytes::Bytes;
use tidemill_appendfile::fuzz::fuzz_frames;
use tidemill_appendfile::{
    AppendFile, Covered, Disk, FileHeader, FrameParts, FrameScan, RealDisk, TailVerdict,
};

const FIXTURE: &[u8] = include_bytes!("../fixtures/append-file-v1.bin");
/// Where the fixture's frames end and its zeros begin.
const END: u64 = 646;

fn payloads() -> Vec<(Bytes, Covered)> {
    let counting: Vec<u8> = (0..512_u32).map(|at| at as u8).collect();
    vec![
        (Bytes::from_static(b"one"), Covered::All),
        (Bytes::from(counting), Covered::All),
        (Bytes::from_static(b"heada body with sums of its own"), Covered::Prefix(4)),
    ]
}

#[tokio::test]
async fn version_1_is_read() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("f"), FIXTURE).unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let file = disk.open("f").await.unwrap();
    let header = tidemill_appendfile::scan::read_header(file.as_ref()).await.unwrap().unwrap();
    assert_eq!((header.kind(), header.identity()), (7, &b"fixture/one"[..]));
    let mut scan = FrameScan::new(file.as_ref(), &header, 1024);
    for (payload, _) in payloads() {
        assert_eq!(scan.next().await.unwrap().unwrap().payload, payload);
    }
    assert!(scan.next().await.unwrap().is_none());
    let end = scan.end().unwrap();
    assert_eq!((end.position, end.verdict), (END, TailVerdict::Clean));
}

#[tokio::test]
async fn version_1_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(directory.path()).unwrap();
    let header = FileHeader::new(7, b"fixture/one").unwrap();
    let mut file = AppendFile::create(&disk, "f", &header, 0).await.unwrap();
    for (payload, covered) in payloads() {
        file.append_all(&[FrameParts { payload: &[payload], covered }]).await.unwrap();
    }
    file.sync().await.unwrap();
    let written = std::fs::read(directory.path().join("f")).unwrap();
    assert_eq!(written, FIXTURE[..END as usize]);
}

#[test]
fn the_fuzz_corpus_replays() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/corpus/append-file");
    let entries: Vec<_> = std::fs::read_dir(corpus).unwrap().collect();
    assert!(entries.len() >= 3);
    for entry in entries {
        fuzz_frames(&std::fs::read(entry.unwrap().path()).unwrap());
    }
}
