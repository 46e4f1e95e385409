//! Rolling, failing, stuck and killed files of a lane: what was acknowledged is readable
//! afterwards.

use std::time::Duration;

use tidemill_appendfile::twin::{FaultyDisk, MemoryDisk, Toxic, ToxicKind, Toxics};
use tidemill_appendfile::{Disk, FileHeader, TailVerdict};

use super::*;
use crate::testing::{joined, lane, object, parts, task_spawn};

async fn open(disk: SharedDisk, config: FileLogConfig) -> FileLogStore {
    FileLogStore::open(disk, task_spawn(), config).await.unwrap()
}

async fn faulty() -> (MemoryDisk, Toxics<ToxicKind>, FileLogStore) {
    let memory = MemoryDisk::new();
    let toxics = Toxics::new(1);
    let disk = Arc::new(FaultyDisk::over_memory(memory.clone(), toxics.clone()));
    (memory, toxics, open(disk, FileLogConfig::default()).await)
}

async fn put(store: &FileLogStore, sequence: u64) -> Result<Location, StoreError> {
    store.put(object(lane(0), sequence), parts(sequence)).await
}

async fn check(store: &FileLogStore, sequence: u64, location: Location) {
    let read = store.read(location.file, location.position, location.length as usize).await;
    assert_eq!(read.unwrap(), joined(&parts(sequence)));
}

#[tokio::test]
async fn files_roll_at_their_limit_and_give_back_what_they_reserved() {
    let disk = MemoryDisk::new();
    let config =
        FileLogConfig { file_bytes_max: 3000, reserve_bytes: 3000, ..FileLogConfig::default() };
    let store = open(Arc::new(disk.clone()), config).await;
    let mut ends = BTreeMap::new();
    for sequence in 1..=20 {
        let location = put(&store, sequence).await.unwrap();
        ends.insert(location.file, location.position + u64::from(location.length));
    }
    assert!(ends.len() >= 5);
    store.close();
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    let lengths: BTreeMap<FileId, u64> =
        store.list().await.unwrap().into_iter().map(|found| (found.file, found.length)).collect();
    assert_eq!(lengths, ends);
    let error = put(&store, 21).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Closed);
}

#[tokio::test]
async fn after_a_failed_sync_the_same_object_goes_to_a_new_file() {
    let (memory, toxics, store) = faulty().await;
    let first = put(&store, 1).await.unwrap();
    toxics.add(Toxic::always("sync", ToxicKind::FailSync { drop_dirty: true }));
    let puts = [put(&store, 2), put(&store, 3)];
    for result in futures::future::join_all(puts).await {
        assert_eq!(result.unwrap_err().kind, ErrorKind::Ambiguous);
    }
    toxics.clear();
    let again = put(&store, 2).await.unwrap();
    assert_ne!(again.file, first.file);
    memory.crash(5);
    drop(store);
    let store = open(Arc::new(memory), FileLogConfig::default()).await;
    check(&store, 1, first).await;
    check(&store, 2, again).await;
}

#[tokio::test]
async fn what_was_acknowledged_survives_any_crash() {
    for seed in 0..100 {
        let memory = MemoryDisk::new();
        let toxics = Toxics::new(seed);
        let rate = 150_000;
        toxics.add(Toxic::always("write", ToxicKind::FailWrite).at_rate(rate));
        toxics.add(Toxic::always("sync", ToxicKind::FailSync { drop_dirty: true }).at_rate(rate));
        toxics.add(Toxic::always("answer", ToxicKind::LoseSyncAnswer).at_rate(rate));
        let disk = Arc::new(FaultyDisk::over_memory(memory.clone(), toxics.clone()));
        let config = FileLogConfig { file_bytes_max: 5000, ..FileLogConfig::default() };
        let store = open(disk, config).await;
        let mut acknowledged = Vec::new();
        for sequence in 1..=30 {
            if let Ok(location) = put(&store, sequence).await {
                acknowledged.push((sequence, location));
            }
        }
        memory.crash(seed);
        let store = open(Arc::new(memory), FileLogConfig::default()).await;
        for (sequence, location) in acknowledged {
            check(&store, sequence, location).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_put_on_a_stuck_sync_does_not_hold_up_the_next_file() {
    let (_, toxics, store) = faulty().await;
    toxics.add(Toxic::always("slow", ToxicKind::DelaySync { delay_ms: 60_000 }).only_at("f1.log"));
    let slow = put(&store, 1);
    let mut slow = std::pin::pin!(slow);
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut slow).await.is_err());
    let queued = put(&store, 2);
    store.abandon_file(lane(0));
    let copy = tokio::time::timeout(Duration::from_millis(50), put(&store, 1)).await;
    let copy = copy.unwrap().unwrap();
    check(&store, 1, copy).await;
    // The stuck sync ends well after all: that copy is durable too.
    let location = slow.await.unwrap();
    assert_ne!(location.file, copy.file);
    check(&store, 1, location).await;
    let next = queued.await.unwrap();
    assert_eq!(next.file, copy.file);
}

#[tokio::test(start_paused = true)]
async fn puts_behind_a_stuck_sync_are_refused_when_its_file_was_abandoned() {
    let (_, toxics, store) = faulty().await;
    toxics.add(Toxic::always("slow", ToxicKind::DelaySync { delay_ms: 1000 }).only_at("f1.log"));
    let store = &store;
    let first = store.put(object(lane(0), 1), parts(1));
    let mut first = std::pin::pin!(first);
    assert!(tokio::time::timeout(Duration::from_millis(5), &mut first).await.is_err());
    let behind = store.put(object(lane(0), 2), parts(2));
    store.abandon_file(lane(0));
    assert!(first.await.is_ok());
    assert_eq!(behind.await.unwrap_err().kind, ErrorKind::Retry);
}

#[tokio::test(start_paused = true)]
async fn no_more_files_are_abandoned_than_may_be_stuck() {
    let (memory, toxics, store) = faulty().await;
    toxics.add(Toxic::always("slow", ToxicKind::DelaySync { delay_ms: 3_600_000 }));
    let stuck_max = store.config().stuck_files_max;
    let mut waiting = Vec::new();
    for sequence in 0..2 * stuck_max as u64 {
        waiting.push(store.put(object(lane(0), sequence), parts(sequence)));
        tokio::time::sleep(Duration::from_millis(1)).await;
        store.abandon_file(lane(0));
    }
    assert!(memory.paths().len() <= stuck_max + 1, "{:?}", memory.paths());
}

#[tokio::test]
async fn more_puts_than_may_wait_are_refused() {
    let config = FileLogConfig { waiting_puts_max: 2, ..FileLogConfig::default() };
    let store = open(Arc::new(MemoryDisk::new()), config).await;
    let puts: Vec<_> =
        (1..=3).map(|number| store.put(object(lane(0), number), parts(number))).collect();
    let results = futures::future::join_all(puts).await;
    assert!(results[0].is_ok() && results[1].is_ok());
    assert_eq!(results[2].as_ref().unwrap_err().kind, ErrorKind::Throttled);
}

#[tokio::test]
async fn a_full_disk_is_said_and_passes() {
    let memory = MemoryDisk::with_capacity(2000);
    let store = open(Arc::new(memory.clone()), FileLogConfig::default()).await;
    let mut stored = Vec::new();
    let error = loop {
        match put(&store, stored.len() as u64).await {
            Ok(location) => stored.push(location),
            Err(error) => break error,
        }
    };
    assert!(error.full, "{error}");
    assert!(!stored.is_empty());
    memory.set_capacity(1 << 30);
    put(&store, 9).await.unwrap();
    for (sequence, location) in stored.into_iter().enumerate() {
        check(&store, sequence as u64, location).await;
    }
}

#[tokio::test]
async fn numbers_go_on_after_those_on_the_disk() {
    let disk = MemoryDisk::new();
    let store = open(Arc::new(disk.clone()), FileLogConfig::default()).await;
    put(&store, 1).await.unwrap();
    store.abandon_file(lane(0));
    let second = put(&store, 2).await.unwrap();
    disk.kill();
    let store = open(Arc::new(disk), FileLogConfig::default()).await;
    let third = put(&store, 3).await.unwrap();
    assert_eq!((second.file.number.0, third.file.number.0), (2, 3));
    check(&store, 2, second).await;
}

#[tokio::test]
async fn files_are_append_files_whose_frames_are_the_objects() {
    let disk = MemoryDisk::new();
    let store = open(Arc::new(disk.clone()), FileLogConfig::default()).await;
    let locations = [put(&store, 1).await.unwrap(), put(&store, 2).await.unwrap()];
    let file = disk.open(&append_file_path(&locations[0].file)).await.unwrap();
    let header = FileHeader::new(1, &crate::file_name::append_file_identity(&locations[0].file));
    let header = header.unwrap();
    let (frames, end) =
        tidemill_appendfile::scan::scan_all(file.as_ref(), &header, 1 << 20).await.unwrap();
    let found: Vec<u64> = frames.iter().map(|frame| frame.payload_position()).collect();
    assert_eq!(found, locations.map(|location| location.position));
    assert_eq!(end.verdict, TailVerdict::Clean);
}

#[tokio::test]
async fn a_newer_registration_ends_the_tasks_of_the_older() {
    let store = open(Arc::new(MemoryDisk::new()), FileLogConfig::default()).await;
    for epoch in 1..=50 {
        let lane = LaneKey { epoch: tidemill_base::BrokerEpoch(epoch), ..lane(0) };
        store.put(object(lane, 1), parts(1)).await.unwrap();
        tokio::task::yield_now().await;
    }
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.shared.tasks_count.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn space_that_a_killed_process_reserved_is_given_back_and_nothing_else() {
    for (seed, power_lost) in (0..40).map(|seed| (seed, seed % 2 == 0)) {
        let disk = MemoryDisk::new();
        let store = open(Arc::new(disk.clone()), FileLogConfig::default()).await;
        let mut acknowledged = Vec::new();
        for sequence in 0..seed % 7 {
            let zeros = vec![Bytes::from_static(b"header"), Bytes::from(vec![0; 9000])];
            let location = store.put(object(lane(0), sequence), zeros).await.unwrap();
            acknowledged.push(location);
        }
        if power_lost {
            disk.crash(seed)
        } else {
            disk.kill()
        }
        let store = open(Arc::new(disk.clone()), FileLogConfig::default()).await;
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        for location in &acknowledged {
            let (position, length) = (location.position, location.length as usize);
            store.read(location.file, position, length).await.unwrap();
        }
        if let Some(last) = acknowledged.last() {
            let length = store.list().await.unwrap()[0].length;
            assert_eq!(length, last.position + u64::from(last.length), "seed {seed}");
        }
    }
}

#[tokio::test]
async fn every_sync_is_counted_by_how_long_it_took() {
    let (_, toxics, store) = faulty().await;
    let counted = |store: &FileLogStore| -> u64 {
        store.syncs().us_buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    };
    put(&store, 1).await.unwrap();
    put(&store, 2).await.unwrap();
    assert_eq!(counted(&store), 2);
    toxics.add(Toxic::always("sync", ToxicKind::FailSync { drop_dirty: true }).only_at("log/"));
    put(&store, 3).await.unwrap_err();
    assert_eq!(counted(&store), 3, "one that failed took its time too");
}
