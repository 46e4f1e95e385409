//! What every `Objects` does, run over each adapter.

use object_store::memory::InMemory;
use tidemill_appendfile::twin::{FaultyDisk, MemoryDisk, Toxic, ToxicKind, Toxics};
use tidemill_appendfile::{Disk, RealDisk};
use tidemill_base::{ErrorKind, LaneId};

use super::*;
use crate::testing::{ThreadSpawn, joined, lane, object, parts, task_spawn};

fn name(sequence: u64) -> ObjectId {
    object(lane(LaneId::OBJECTS.0), sequence)
}

async fn conforms(objects: &dyn Objects) {
    let first = objects.put(name(1), parts(1)).await.unwrap();
    let second = objects.put(name(2), parts(2)).await.unwrap();
    assert_eq!(objects.put(name(1), parts(1)).await.unwrap(), first);
    let whole = joined(&parts(1));
    assert_eq!((first.position, first.length as usize), (0, whole.len()));
    assert_eq!(objects.read(first.file, 0, whole.len()).await.unwrap(), whole);
    assert_eq!(objects.read(first.file, 5, 300).await.unwrap(), whole[5..305]);
    let beyond = objects.read(first.file, 5, whole.len()).await.unwrap_err();
    assert_ne!(beyond.kind, ErrorKind::NotFound);

    let stored =
        |location: Location| StoredFile { file: location.file, length: u64::from(location.length) };
    assert_eq!(objects.list().await.unwrap(), [stored(first), stored(second)]);
    objects.delete(first.file).await.unwrap();
    objects.delete(first.file).await.unwrap();
    assert_eq!(objects.list().await.unwrap(), [stored(second)]);
    let gone = objects.read(first.file, 0, 1).await.unwrap_err();
    assert_eq!(gone.kind, ErrorKind::NotFound);
    let empty = objects.put(name(3), vec![]).await.unwrap_err();
    assert_eq!(empty.kind, ErrorKind::Invalid);
}

#[tokio::test]
async fn objects_on_the_real_disk_conform() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(directory.path()).unwrap());
    conforms(&DiskObjects::open(disk, Arc::new(ThreadSpawn::here())).await.unwrap()).await;
}

#[tokio::test]
async fn objects_on_the_disk_in_memory_conform() {
    conforms(&DiskObjects::open(Arc::new(MemoryDisk::new()), task_spawn()).await.unwrap()).await;
}

#[tokio::test]
async fn objects_in_an_object_store_conform() {
    conforms(&StoreObjects::new(Arc::new(InMemory::new()))).await;
}

#[tokio::test]
async fn an_object_is_there_whole_or_not_at_all() {
    for seed in 0..100 {
        let memory = MemoryDisk::new();
        let toxics = Toxics::new(seed);
        let rate = 300_000;
        toxics.add(Toxic::always("write", ToxicKind::FailWrite).at_rate(rate));
        toxics.add(Toxic::always("sync", ToxicKind::FailSync { drop_dirty: true }).at_rate(rate));
        let disk = Arc::new(FaultyDisk::over_memory(memory.clone(), toxics));
        let objects = DiskObjects::open(disk, task_spawn()).await.unwrap();
        let mut acknowledged = Vec::new();
        for sequence in 1..=10 {
            if let Ok(location) = objects.put(name(sequence), parts(sequence)).await {
                acknowledged.push(location.file);
            }
        }
        memory.crash(seed);
        let objects = DiskObjects::open(Arc::new(memory.clone()), task_spawn()).await.unwrap();
        let found = objects.list().await.unwrap();
        assert_eq!(found.iter().map(|stored| stored.file).collect::<Vec<_>>(), acknowledged);
        for stored in found {
            let bytes = objects.read(stored.file, 0, stored.length as usize).await.unwrap();
            assert_eq!(bytes, joined(&parts(stored.file.sequence)));
        }
    }
}

#[tokio::test]
async fn what_an_earlier_life_left_unfinished_is_removed() {
    let disk = MemoryDisk::new();
    disk.create("objects/1-1-1-65535-1.tmp", 10).await.unwrap();
    DiskObjects::open(Arc::new(disk.clone()), task_spawn()).await.unwrap();
    assert!(disk.paths().is_empty());
}
