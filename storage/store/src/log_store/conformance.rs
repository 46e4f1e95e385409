//! What every `LogStore` does, run over each adapter.

use std::collections::BTreeSet;
use std::sync::Arc;

use object_store::memory::InMemory;
use tidemill_appendfile::RealDisk;
use tidemill_appendfile::twin::{MemoryDisk, Toxics};

use super::*;
use crate::file_log_store::{FileLogConfig, FileLogStore};
use crate::object_log_store::ObjectLogStore;
use crate::testing::{ThreadSpawn, joined, lane, object, parts, task_spawn};
use crate::twin::FaultyLogStore;

async fn put(store: &dyn LogStore, lane_number: u16, sequence: u64) -> Location {
    let object = object(lane(lane_number), sequence);
    store.put(object, parts(sequence)).await.unwrap()
}

async fn read_whole(store: &dyn LogStore, location: Location) -> Bytes {
    store.read(location.file, location.position, location.length as usize).await.unwrap()
}

async fn what_was_put_is_read_back_in_any_range(store: &dyn LogStore) {
    let mut locations = Vec::new();
    for sequence in 1..=20 {
        locations.push((sequence, put(store, 1, sequence).await));
    }
    for (sequence, location) in locations {
        let expected = joined(&parts(sequence));
        assert_eq!(location.length as usize, expected.len());
        assert_eq!(read_whole(store, location).await, expected);
        let (from, to) = (3 + sequence as usize, 200);
        let range = store.read(location.file, location.position + from as u64, to - from).await;
        assert_eq!(range.unwrap(), expected[from..to]);
    }
}

async fn puts_of_many_lanes_in_flight_all_land_apart(store: &dyn LogStore) {
    let puts = (0..40)
        .map(|number| store.put(object(lane(2 + (number % 3) as u16), number), parts(number)));
    let locations = futures::future::try_join_all(puts).await.unwrap();
    let places: BTreeSet<_> = locations.iter().map(|found| (found.file, found.position)).collect();
    assert_eq!(places.len(), 40);
    for (number, location) in locations.into_iter().enumerate() {
        assert_eq!(read_whole(store, location).await, joined(&parts(number as u64)));
    }
}

async fn puts_of_a_lane_lie_in_the_order_of_the_calls(store: &dyn LogStore) {
    let puts = (1..=30).map(|number| store.put(object(lane(6), number), parts(number)));
    let locations = futures::future::try_join_all(puts).await.unwrap();
    assert!(locations.windows(2).all(|pair| {
        let key = |location: &Location| (location.file, location.position);
        key(&pair[0]) < key(&pair[1])
    }));
}

async fn an_object_put_again_is_readable_where_the_answer_says(store: &dyn LogStore) {
    put(store, 7, 1).await;
    store.abandon_file(lane(7));
    let again = put(store, 7, 1).await;
    assert_eq!(read_whole(store, again).await, joined(&parts(1)));
    assert_eq!(read_whole(store, put(store, 7, 2).await).await, joined(&parts(2)));
}

async fn after_a_file_is_abandoned_the_next_put_starts_another(store: &dyn LogStore) {
    let before = put(store, 8, 1).await;
    store.abandon_file(lane(8));
    store.abandon_file(lane(8));
    store.abandon_file(lane(99));
    let after = put(store, 8, 2).await;
    assert_ne!(before.file, after.file);
    assert_eq!(read_whole(store, before).await, joined(&parts(1)));
}

async fn reads_beyond_the_end_and_of_nothing_are_errors(store: &dyn LogStore) {
    let location = put(store, 9, 1).await;
    let far = store.read(location.file, 1 << 40, 1).await.unwrap_err();
    assert_ne!(far.kind, ErrorKind::NotFound);
    let nowhere = FileId { incarnation: tidemill_base::Incarnation(77), ..location.file };
    let error = store.read(nowhere, 0, 1).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

async fn an_empty_object_is_refused(store: &dyn LogStore) {
    let error = store.put(object(lane(10), 1), vec![Bytes::new()]).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid);
    put(store, 10, 2).await;
}

async fn files_are_listed_and_deleted(store: &dyn LogStore) {
    let first = put(store, 11, 1).await;
    store.abandon_file(lane(11));
    let second = put(store, 11, 2).await;
    let listed = store.list().await.unwrap();
    assert!(listed.is_sorted());
    for location in [first, second] {
        let found = listed.iter().find(|found| found.file == location.file).unwrap();
        assert!(found.length >= location.position + u64::from(location.length));
    }
    store.delete(first.file).await.unwrap();
    store.delete(first.file).await.unwrap();
    let error = store.read(first.file, first.position, 1).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(store.list().await.unwrap().iter().all(|found| found.file != first.file));
    assert_eq!(read_whole(store, second).await, joined(&parts(2)));
}

async fn conforms(store: SharedLogStore) {
    let store = store.as_ref();
    what_was_put_is_read_back_in_any_range(store).await;
    puts_of_many_lanes_in_flight_all_land_apart(store).await;
    puts_of_a_lane_lie_in_the_order_of_the_calls(store).await;
    an_object_put_again_is_readable_where_the_answer_says(store).await;
    after_a_file_is_abandoned_the_next_put_starts_another(store).await;
    reads_beyond_the_end_and_of_nothing_are_errors(store).await;
    an_empty_object_is_refused(store).await;
    files_are_listed_and_deleted(store).await;
    assert!(store.free_bytes().await.unwrap().is_none_or(|bytes| bytes > 0));
}

fn small_files() -> FileLogConfig {
    FileLogConfig { file_bytes_max: 4000, reserve_bytes: 3000, ..FileLogConfig::default() }
}

#[tokio::test]
async fn append_files_on_the_real_disk_conform() {
    for config in [FileLogConfig::default(), small_files()] {
        let directory = tempfile::tempdir().unwrap();
        let disk = Arc::new(RealDisk::open(directory.path()).unwrap());
        let spawn = Arc::new(ThreadSpawn::here());
        conforms(Arc::new(FileLogStore::open(disk, spawn, config).await.unwrap())).await;
    }
}

#[tokio::test]
async fn append_files_in_memory_conform() {
    for config in [FileLogConfig::default(), small_files()] {
        let disk = Arc::new(MemoryDisk::new());
        conforms(Arc::new(FileLogStore::open(disk, task_spawn(), config).await.unwrap())).await;
    }
}

#[tokio::test]
async fn immutable_objects_in_memory_conform() {
    conforms(Arc::new(ObjectLogStore::open(Arc::new(InMemory::new()), 1).await.unwrap())).await;
}

#[tokio::test]
async fn the_faulty_store_without_toxics_conforms() {
    let disk = Arc::new(MemoryDisk::new());
    let files = FileLogStore::open(disk, task_spawn(), FileLogConfig::default()).await.unwrap();
    conforms(Arc::new(FaultyLogStore::new(Arc::new(files), Toxics::new(1)))).await;
    let objects = ObjectLogStore::open(Arc::new(InMemory::new()), 1).await.unwrap();
    conforms(Arc::new(FaultyLogStore::new(Arc::new(objects), Toxics::new(1)))).await;
}
