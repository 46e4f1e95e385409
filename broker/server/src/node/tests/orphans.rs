//! Orphans of the present life go, and what a late commit could name does not.

use std::collections::BTreeSet;
use std::time::Duration;

use tidemill_appendfile::twin::{FaultyDisk, Toxic, ToxicKind, Toxics};
use tidemill_base::{FileId, LaneId, LaneKey, LaneSequence, ObjectId};
use tidemill_metadata_state::command::FoldExtents;
use tidemill_metadata_state::{Outcome, Refusal};
use tidemill_storage_store::{Objects, file_name};

use super::*;

/// When records are made: retention leaves them alone.
const NOW_MS: i64 = 1_700_000_000_000;

/// A node whose log store has a disk with faults.
async fn start(disks: &Disks, toxics: &Toxics<ToxicKind>) -> Client {
    let tasks = Arc::new(TestSpawn::default());
    let spawn: SharedSpawn = Arc::clone(&tasks) as SharedSpawn;
    let disk: tidemill_appendfile::SharedDisk = Arc::new(disks.disk.clone());
    let faulty = Arc::new(FaultyDisk::over_memory(disks.disk.clone(), toxics.clone()));
    let log_store = FileLogStore::open(faulty, Arc::clone(&spawn), FileLogConfig::default());
    let objects = DiskObjects::open(Arc::clone(&disk), Arc::clone(&spawn)).await.unwrap();
    let ports = NodePorts {
        objects: Arc::new(objects),
        space: None,
        wrap_commits: None,
        log_store: Arc::new(log_store.await.unwrap()),
        meta_disk: disk,
        state_store: Arc::new(disks.store.clone()),
        clock: Arc::new(TestClock(tokio::time::Instant::now())),
        spawn,
        seed: 7,
    };
    let config = NodeConfig { kafka_address: None, ..NodeConfig::default() };
    let node = Node::start(config, ports).await.unwrap();
    let connection = node.service().connect((Ipv4Addr::LOCALHOST, 1).into());
    Client { spawn: tasks, node, connection }
}

fn log_files(disks: &Disks) -> BTreeSet<FileId> {
    let paths = disks.disk.paths();
    let names = paths.iter().filter_map(|path| path.strip_prefix("log/"));
    names.filter_map(file_name::parse_append_file).collect()
}

#[tokio::test(start_paused = true)]
async fn files_of_failed_syncs_go_within_the_life_that_left_them() {
    let (disks, toxics) = (disks(), Toxics::new(3));
    let mut client = start(&disks, &toxics).await;
    client.create("t", 1).await;
    toxics.add(Toxic::always("sync", ToxicKind::FailSync { drop_dirty: true }).only_at("log/"));
    let heal = toxics.clone();
    let produced = tokio::join!(client.produce("t", records(&[NOW_MS])), async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        heal.clear();
    });
    assert_eq!(produced.0.error_code, ErrorCode::NONE);
    let known = |client: &Client| -> BTreeSet<FileId> {
        client
            .node
            .broker()
            .metadata
            .with_state(|state| state.files().map(|file| file.id).collect())
    };
    assert!(log_files(&disks).len() > 1, "failed syncs leave files");
    assert!(!log_files(&disks).is_subset(&known(&client)));
    // A search, the patience, the grace, a save.
    tokio::time::sleep(Duration::from_secs(300 + 60 + 600 + 60)).await;
    assert_eq!(log_files(&disks), known(&client));
    assert_eq!(log_files(&disks).len(), 1);
    assert_eq!(client.produce("t", records(&[NOW_MS])).await.base_offset, 1, "the lane goes on");
    assert_eq!(batches(&client.fetch("t", 0, 0).await.0).count(), 2);
    client.spawn.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_of_a_fold_that_never_came_is_refused_before_it_goes() {
    let (disks, toxics) = (disks(), Toxics::new(3));
    let client = start(&disks, &toxics).await;
    let broker = Arc::clone(client.node.broker());
    let lane = LaneKey { broker: broker.id, epoch: broker.epoch, lane: LaneId::OBJECTS };
    let incarnation = broker.view.projection().incarnation();
    let index = ObjectId { incarnation, lane, sequence: LaneSequence(9) };
    let disk: tidemill_appendfile::SharedDisk = Arc::new(disks.disk.clone());
    let spawn: SharedSpawn = Arc::clone(&client.spawn) as SharedSpawn;
    let objects = DiskObjects::open(disk, spawn).await.unwrap();
    let location = objects.put(index, vec![Bytes::from_static(b"index")]).await.unwrap();
    let path = file_name::side_object_path(&location.file);
    let is_there = || disks.disk.paths().contains(&path);
    let floor = || broker.metadata.with_state(|state| state.lane_floor(&lane)).unwrap();
    let mut seconds = 0;
    while floor() < index.sequence {
        assert!(is_there(), "it may still be committed");
        tokio::time::sleep(Duration::from_secs(1)).await;
        seconds += 1;
        assert!(seconds < 300 + 60 + 30);
    }
    assert!(is_there());
    let late = FoldExtents { file: location.file, index, location, runs: Vec::new() };
    let refused = broker.metadata.propose(late).await.unwrap();
    assert_eq!(refused, Outcome::Refused(Refusal::Condemned));
    tokio::time::sleep(Duration::from_secs(590)).await;
    assert!(is_there(), "its grace is not over");
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert!(!is_there());
    client.spawn.kill().await;
}
