//! Goal: the redb adapter keeps the port's promises. Method: the same calls on it and on its twin.

use tidemill_base::AppliedIndex;

use super::*;
use crate::log::{LogPosition, Membership};
use crate::save::memory_store::MemoryStore;

fn position(index: u64) -> SavedPosition {
    let applied = LogPosition { index, term: 3 };
    SavedPosition { applied, membership: Membership::of_voters(vec![1]), installed: false }
}

fn set(index: u64, puts: &[(&str, &str)], deletes: &[&str]) -> SaveSet {
    let bytes = |text: &str| text.as_bytes().to_vec();
    SaveSet {
        applied: AppliedIndex(index),
        puts: puts.iter().map(|(key, value)| (bytes(key), bytes(value))).collect(),
        deletes: deletes.iter().map(|key| bytes(key)).collect(),
    }
}

async fn content(store: &dyn StateStore) -> Option<(u64, Vec<(String, String)>)> {
    let mut snapshot = store.snapshot().await.unwrap()?;
    let mut records = Vec::new();
    loop {
        let chunk = snapshot.next_chunk(3).await.unwrap();
        if chunk.is_empty() {
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            let records = records.into_iter().map(|(key, value)| (text(key), text(value)));
            return Some((snapshot.position().applied.index, records.collect()));
        }
        records.extend(chunk);
    }
}

async fn conforms(store: &dyn StateStore) {
    assert_eq!(store.position().await.unwrap(), None);
    assert_eq!(content(store).await, None);
    store.save(&position(4), &set(4, &[("a", "1"), ("b", "2")], &["x"])).await.unwrap();
    assert_eq!(store.position().await.unwrap(), Some(position(4)));
    let mut before = store.snapshot().await.unwrap().unwrap();
    store.save(&position(9), &set(9, &[("b", "3"), ("c", "4")], &["a"])).await.unwrap();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(content(store).await, Some((9, vec![pair("b", "3"), pair("c", "4")])));
    assert_eq!(before.position(), &position(4));
    assert_eq!(before.next_chunk(100).await.unwrap().len(), 2);
    drop(before);
    // An install that is not finished changes nothing, and is dropped by the next one.
    let mut unfinished = store.install().await.unwrap();
    unfinished.add(vec![(b"z".to_vec(), b"0".to_vec())]).await.unwrap();
    drop(unfinished);
    assert_eq!(content(store).await.unwrap().0, 9);
    let mut install = store.install().await.unwrap();
    install.add(vec![(b"d".to_vec(), b"5".to_vec())]).await.unwrap();
    install.add(vec![(b"e".to_vec(), b"6".to_vec())]).await.unwrap();
    install.finish(position(20)).await.unwrap();
    assert_eq!(content(store).await, Some((20, vec![pair("d", "5"), pair("e", "6")])));
    store.save(&position(21), &set(21, &[("f", "7")], &[])).await.unwrap();
    assert_eq!(content(store).await.unwrap().1.len(), 3);
}

#[tokio::test]
async fn both_adapters_keep_the_promises_of_the_port() {
    conforms(&MemoryStore::default()).await;
    let directory = tempfile::tempdir().unwrap();
    conforms(&RedbStore::new(directory.path())).await;
    let reopened = RedbStore::new(directory.path());
    assert_eq!(content(&reopened).await.unwrap().0, 21);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("meta")).unwrap();
    fs::write(directory.path().join("meta/state.redb"), b"something else").unwrap();
    assert!(RedbStore::new(directory.path()).position().await.is_err());
}

/// A saved state of some pages, its file and its bytes.
async fn saved(folder: &Path) -> (PathBuf, Vec<u8>) {
    let store = RedbStore::new(folder);
    let value = "v".repeat(500);
    for index in 1..=20u64 {
        let keys: Vec<String> = (0..20).map(|at| format!("{index}-{at}")).collect();
        let puts: Vec<(&str, &str)> = keys.iter().map(|key| (&key[..], &value[..])).collect();
        store.save(&position(index), &set(index, &puts, &[])).await.unwrap();
    }
    let path = folder.join("meta/state.redb");
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

async fn load_all(folder: &Path) -> Result<usize, StoreError> {
    let store = RedbStore::new(folder);
    let Some(mut snapshot) = store.snapshot().await? else { return Ok(0) };
    let mut records = 0;
    loop {
        match snapshot.next_chunk(4096).await?.len() {
            0 => return Ok(records),
            more => records += more,
        }
    }
}

#[tokio::test]
async fn a_file_that_is_not_redbs_or_cut_is_corrupt_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = saved(folder.path()).await;
    assert_eq!(load_all(folder.path()).await.unwrap(), 400);
    let mut headless = bytes.clone();
    headless[..64].fill(0x5A);
    let foreign = b"this is no database".repeat(500);
    for (what, damaged) in [
        ("garbage", foreign),
        ("a damaged head", headless),
        ("half of it", bytes[..bytes.len() / 2].to_vec()),
        ("one page of it", bytes[..4096].to_vec()),
    ] {
        fs::write(&path, &damaged).unwrap();
        let error = load_all(folder.path()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "{what}: {error}");
        assert!(error.to_string().contains("state.redb"), "{what}: {error}");
        assert_eq!(fs::read(&path).unwrap().len(), damaged.len(), "{what}: it is left as it was");
    }
}

#[tokio::test]
async fn damaged_pages_are_an_error_or_records_but_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = saved(folder.path()).await;
    for at in (0..bytes.len() - 64).step_by(4096 + 512) {
        let mut damaged = bytes.clone();
        damaged[at..at + 64].fill(0xFF);
        fs::write(&path, &damaged).unwrap();
        if let Err(error) = load_all(folder.path()).await {
            assert_eq!(error.kind, ErrorKind::Corrupt, "at {at}: {error}");
        }
    }
}
