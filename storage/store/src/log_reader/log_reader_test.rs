//! Where reads are answered from, how many reach the store, and what damage does.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tidemill_appendfile::twin::{MemoryDisk, Toxic, Toxics};
use tidemill_base::{LaneId, Location};

use super::*;
use crate::file_log_store::{FileLogConfig, FileLogStore};
use crate::file_name::append_file_path;
use crate::log_store::LogStore;
use crate::testing::{joined, lane, object, task_spawn};
use crate::twin::{FaultyLogStore, StoreToxic};

struct Setup {
    disk: MemoryDisk,
    toxics: Toxics<StoreToxic>,
    hot: Arc<HotCache>,
    reader: Arc<LogReader>,
    objects: Vec<(Location, Bytes)>,
}

/// Objects of 50,000 bytes each, in one file of 2.5 MB.
async fn setup(check: Option<BatchCheck>) -> Setup {
    let disk = MemoryDisk::new();
    let shared = Arc::new(disk.clone());
    let files = FileLogStore::open(shared, task_spawn(), FileLogConfig::default()).await.unwrap();
    let mut objects = Vec::new();
    for number in 0..50_u64 {
        let parts = vec![Bytes::from(vec![number as u8 + 1; 50_000])];
        let location = files.put(object(lane(0), number), parts.clone()).await.unwrap();
        objects.push((location, joined(&parts)));
    }
    let toxics = Toxics::new(1);
    let store = Arc::new(FaultyLogStore::new(Arc::new(files), toxics.clone()));
    let hot = Arc::new(HotCache::new(1 << 20));
    let config =
        LogReaderConfig { blocks_bytes_max: 4 << 20, store_reads_max: 2, ..Default::default() };
    let reader = Arc::new(LogReader::new(Arc::clone(&hot), store, check, config));
    Setup { disk, toxics, hot, reader, objects }
}

impl Setup {
    fn request(&self, number: usize) -> ReadRequest {
        let (location, _) = &self.objects[number];
        let (last, _) = self.objects.last().unwrap();
        ReadRequest {
            file: location.file,
            position: location.position,
            length: location.length as usize,
            readable_up_to: last.position + u64::from(last.length),
        }
    }

    async fn check_read(&self, number: usize) {
        let bytes = self.reader.read(self.request(number)).await.unwrap().concat();
        assert!(bytes == self.objects[number].1);
    }

    fn store_reads(&self) -> u64 {
        self.reader.counters().store_reads.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_sequential_reader_reads_in_blocks() {
    let setup = setup(None).await;
    for number in 0..50 {
        setup.check_read(number).await;
    }
    // Two or three small reads until the first block counts as dense, then one for each block.
    assert!(setup.store_reads() <= 6, "{}", setup.store_reads());
    for number in (0..50).rev() {
        setup.check_read(number).await;
    }
    assert!(setup.store_reads() <= 6);
}

#[tokio::test]
async fn hot_objects_are_read_without_the_store() {
    let setup = setup(None).await;
    let (location, bytes) = &setup.objects[49];
    setup.hot.insert(*location, vec![(0, bytes.clone())]);
    setup.toxics.add(Toxic::always("read", StoreToxic::FailRead));
    setup.check_read(49).await;
    assert_eq!(setup.store_reads(), 0);
    assert_eq!(setup.reader.counters().hot_bytes.load(Ordering::Relaxed), 50_000);
    assert!(setup.reader.read(setup.request(48)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn readers_of_one_block_wait_for_one_read() {
    let setup = setup(None).await;
    for number in 0..3 {
        setup.check_read(number).await;
    }
    let before = setup.store_reads();
    setup.toxics.add(Toxic::always("slow", StoreToxic::DelayRead { delay_ms: 10 }));
    let reads = (25..35).map(|number| setup.check_read(number));
    futures::future::join_all(reads).await;
    assert!(setup.store_reads() - before <= 3, "{}", setup.store_reads() - before);
    assert!(setup.reader.loading.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_more_reads_are_at_the_store_than_there_are_places() {
    let setup = setup(None).await;
    setup.toxics.add(Toxic::always("slow", StoreToxic::DelayRead { delay_ms: 10 }));
    let start = tokio::time::Instant::now();
    let far_apart = [0, 21, 42].map(|number| setup.check_read(number));
    let more = [0, 21, 42].map(|number| setup.check_read(number));
    futures::future::join(futures::future::join_all(far_apart), futures::future::join_all(more))
        .await;
    assert!(start.elapsed() >= Duration::from_millis(20), "{:?}", start.elapsed());
}

fn all_bytes_alike(bytes: &[u8]) -> Result<(), String> {
    // Objects hold one value each; a flipped bit is a byte unlike its neighbours.
    let first = bytes.first().copied();
    match bytes.iter().position(|byte| Some(*byte) != first) {
        None => Ok(()),
        Some(at) => Err(format!("byte {at} is wrong")),
    }
}

#[tokio::test]
async fn damage_on_the_disk_is_said_and_the_rest_is_read() {
    let setup = setup(Some(all_bytes_alike)).await;
    let (location, _) = setup.objects[7];
    setup.disk.damage(&append_file_path(&location.file), location.position + 99, 1);
    for number in (0..7).chain(8..50) {
        setup.check_read(number).await;
    }
    let error = setup.reader.read(setup.request(7)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(error.reason.contains("byte 99 is wrong"), "{error}");
}

#[tokio::test]
async fn a_deleted_file_is_forgotten() {
    let setup = setup(None).await;
    for number in 0..10 {
        setup.check_read(number).await;
    }
    let file = setup.objects[0].0.file;
    setup.toxics.add(Toxic::always("gone", StoreToxic::ReadNotFound));
    setup.check_read(5).await;
    setup.reader.forget_file(file);
    let error = setup.reader.read(setup.request(5)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert_eq!(file.lane.lane, LaneId(0));
}

#[tokio::test]
async fn bytes_not_yet_committed_are_never_kept() {
    let setup = setup(None).await;
    let mut request = setup.request(0);
    request.readable_up_to = request.position + 200_000;
    request.length = 150_000;
    setup.reader.read(request).await.unwrap();
    let kept = setup.reader.blocks.lock().slice((request.file, 0), 0, 200_000 + 76);
    assert!(kept.is_some());
    let beyond = setup.reader.blocks.lock().slice((request.file, 0), 0, 200_000 + 77);
    assert!(beyond.is_none());
}
