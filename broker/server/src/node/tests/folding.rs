//! Extents are folded as soon as many wait, and are committed no faster than they are folded.

use std::time::Duration;

use tidemill_appendfile::twin::{FaultyDisk, Toxic, ToxicKind, Toxics};

use super::*;
use crate::view::FoldLimits;

/// What retention leaves alone.
const NOW_MS: i64 = 1_700_000_000_000;
const LIMITS: FoldLimits = FoldLimits { fold_above: 8, hold_above: 16 };

/// A node that lets few extents wait, whose index objects lie on a disk with faults.
async fn start(disks: &Disks, toxics: &Toxics<ToxicKind>) -> Client {
    let tasks = Arc::new(TestSpawn::default());
    let spawn: SharedSpawn = Arc::clone(&tasks) as SharedSpawn;
    let disk: tidemill_appendfile::SharedDisk = Arc::new(disks.disk.clone());
    let faulty = Arc::new(FaultyDisk::over_memory(disks.disk.clone(), toxics.clone()));
    let log_store =
        FileLogStore::open(Arc::clone(&disk), Arc::clone(&spawn), FileLogConfig::default());
    let ports = NodePorts {
        objects: Arc::new(DiskObjects::open(faulty, Arc::clone(&spawn)).await.unwrap()),
        space: None,
        wrap_commits: None,
        log_store: Arc::new(log_store.await.unwrap()),
        meta_disk: disk,
        state_store: Arc::new(disks.store.clone()),
        clock: Arc::new(TestClock(tokio::time::Instant::now())),
        spawn,
        seed: 7,
    };
    let config = NodeConfig { kafka_address: None, fold_limits: LIMITS, ..NodeConfig::default() };
    let node = Node::start(config, ports).await.unwrap();
    let connection = node.service().connect((Ipv4Addr::LOCALHOST, 1).into());
    Client { spawn: tasks, node, connection }
}

impl Client {
    fn extents_waiting(&self) -> u64 {
        self.node.broker().view.extents_waiting()
    }

    async fn produce_one(&mut self) -> ErrorCode {
        self.produce("t", records(&[NOW_MS])).await.error_code
    }
}

#[tokio::test(start_paused = true)]
async fn many_extents_are_folded_before_their_round() {
    let mut client = start(&disks(), &Toxics::new(1)).await;
    client.create("t", 1).await;
    let started = tokio::time::Instant::now();
    for _ in 0..40 {
        assert_eq!(client.produce_one().await, ErrorCode::NONE);
        assert!(client.extents_waiting() <= LIMITS.hold_above + 1);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(client.extents_waiting() <= LIMITS.fold_above);
    assert!(started.elapsed() < client.node.broker().config.housekeeping_interval);
    let (bytes, high_watermark) = client.fetch("t", 0, 0).await;
    assert_eq!((high_watermark, batches(&bytes).count()), (40, 40));
}

#[tokio::test(start_paused = true)]
async fn commits_wait_while_folding_is_overdue() {
    let toxics = Toxics::new(1);
    let mut client = start(&disks(), &toxics).await;
    client.create("t", 1).await;
    toxics.add(Toxic::always("create", ToxicKind::FailCreate).only_at("objects/"));
    for _ in 0..=LIMITS.hold_above {
        assert_eq!(client.produce_one().await, ErrorCode::NONE);
    }
    for _ in 0..3 {
        assert_eq!(client.produce_one().await, ErrorCode::REQUEST_TIMED_OUT);
    }
    assert_eq!(client.extents_waiting(), LIMITS.hold_above + 1);
    assert_eq!(client.offset_at("t", -1).await.0, LIMITS.hold_above as i64 + 1);
    toxics.clear();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(client.produce_one().await, ErrorCode::NONE);
    assert!(client.extents_waiting() <= LIMITS.hold_above);
    assert_eq!(client.offset_at("t", -1).await.0, LIMITS.hold_above as i64 + 5, "all came in");
    let throttled = client.node.counters().writer.gaps.load(Ordering::Relaxed);
    assert_eq!(throttled, 0, "what is behind an object held back is not proposed");
}
