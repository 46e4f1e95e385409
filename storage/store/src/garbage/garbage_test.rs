//! Deletions reach the right store and every cache, and failures are named again.

use tidemill_appendfile::twin::{MemoryDisk, Toxic, Toxics};
use tidemill_base::ErrorKind;

use super::*;
use crate::file_log_store::{FileLogConfig, FileLogStore};
use crate::hot_cache::HotCache;
use crate::log_reader::{LogReaderConfig, ReadRequest};
use crate::log_store::LogStore;
use crate::objects::{DiskObjects, Objects};
use crate::testing::{lane, object, parts, task_spawn};
use crate::twin::{FaultyLogStore, StoreToxic};

#[tokio::test]
async fn files_and_objects_are_deleted_and_forgotten_and_failures_are_kept() {
    let disk = Arc::new(MemoryDisk::new());
    let config = FileLogConfig { file_bytes_max: 1000, ..FileLogConfig::default() };
    let files = FileLogStore::open(disk.clone(), task_spawn(), config).await.unwrap();
    let objects = Arc::new(DiskObjects::open(disk, task_spawn()).await.unwrap());
    let mut locations = Vec::new();
    for sequence in 1..=3 {
        locations.push(files.put(object(lane(0), sequence), parts(sequence)).await.unwrap());
    }
    let index = objects.put(object(lane(LaneId::OBJECTS.0), 1), parts(9)).await.unwrap();
    let toxics = Toxics::new(1);
    let kept = locations[1].file;
    toxics.add(Toxic::always("delete", StoreToxic::FailDelete).only_at(&kept.to_string()));
    let store: SharedLogStore = Arc::new(FaultyLogStore::new(Arc::new(files), toxics));
    let hot = Arc::new(HotCache::new(10_000));
    let reader = LogReader::new(hot.clone(), store.clone(), None, LogReaderConfig::default());
    hot.insert(locations[0], vec![(0, parts(1).concat().into())]);
    let collector = GarbageCollector::new(store, objects, Arc::new(reader));
    assert_eq!(collector.list().await.unwrap().len(), 4);

    let named = vec![index.file, locations[1].file, locations[0].file];
    let gone = collector.delete(named).await;
    assert_eq!(gone, [locations[0].file, index.file]);
    assert_eq!(collector.counters().failures.load(Ordering::Relaxed), 1);
    let length = locations[0].length as usize;
    let request = ReadRequest {
        file: locations[0].file,
        position: locations[0].position,
        length,
        readable_up_to: 0,
    };
    let error = collector.reader.read(request).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);

    let left: Vec<FileId> =
        collector.list().await.unwrap().iter().map(|stored| stored.file).collect();
    assert_eq!(left, [kept, locations[2].file]);
}
