//! Goal: the member works on real files, threads and redb: group commit, write-behind, and replay of
//! everything after a life that saved nothing. Prints what it took; `TIDEMILL_REPLAY_COMMITS` sets how
//! many commits (docs/measurements.md).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tidemill_appendfile::RealDisk;
use tidemill_base::ids::Uuid;
use tidemill_base::ports::{BoxFuture, Clock, Spawn};
use tidemill_base::{
    BatchFacts, BrokerEpoch, BrokerId, FileId, FileNumber, Incarnation, LaneId, LaneKey,
    LaneSequence, Location, ObjectId, PartitionId, TimestampMs, TopicId,
};
use tidemill_metadata_raft::{
    MetadataHandle, NewCluster, NoSink, Ports, RaftOptions, RedbStore, open,
};
use tidemill_metadata_state::Outcome;
use tidemill_metadata_state::command::{CommitObject, CreateTopic, RegisterBroker};

const PARTITIONS: u32 = 1000;
const BATCHES: u32 = 20;

struct WallClock;

impl Clock for WallClock {
    #[expect(clippy::disallowed_methods, reason = "this test runs on the real clock")]
    fn now(&self) -> TimestampMs {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        TimestampMs(since.expect("the clock is past 1970").as_millis() as i64)
    }
}

struct Threads;

impl Spawn for Threads {
    fn task(&self, name: &'static str, task: BoxFuture<'static, ()>) {
        self.dedicated(name, task);
    }

    #[expect(clippy::disallowed_methods, reason = "this test runs on real threads")]
    fn dedicated(&self, _name: &'static str, task: BoxFuture<'static, ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("threads can be had");
        std::thread::spawn(move || runtime.block_on(task));
    }
}

async fn start(directory: &Path, held_back: bool) -> MetadataHandle {
    let ports = Ports {
        disk: Arc::new(RealDisk::open(directory).expect("nobody else holds it")),
        store: Arc::new(RedbStore::new(directory)),
        clock: Arc::new(WallClock),
        spawn: Arc::new(Threads),
        sink: Arc::new(NoSink::default()),
    };
    let options = RaftOptions { state_saves_held_back: held_back, ..RaftOptions::default() };
    let new_cluster = NewCluster { cluster_id: Uuid::from_u128(1), incarnation: Incarnation(1) };
    open(options, Some(new_cluster), ports).await.expect("the member opens")
}

async fn set_up(handle: &MetadataHandle) -> BrokerEpoch {
    let register = RegisterBroker {
        broker: BrokerId(1),
        listeners: Vec::new(),
        zone: None,
        http_address: None,
        feature_level_max: 1,
    };
    let Ok(Outcome::Registered(epoch)) = handle.propose(register).await else { panic!() };
    let create = CreateTopic {
        name: "t".to_owned(),
        id: TopicId(Uuid::from_u128(5)),
        partitions: PARTITIONS,
        replication_factor: 1,
        configs: Vec::new(),
    };
    assert!(matches!(handle.propose(create).await, Ok(Outcome::Partitions(_))));
    epoch
}

fn commit(epoch: BrokerEpoch, sequence: u64) -> CommitObject {
    let lane = LaneKey { broker: BrokerId(1), epoch, lane: LaneId(0) };
    let batch = |number: u32| BatchFacts {
        partition: PartitionId(1 + (sequence as u32 * BATCHES + number) % PARTITIONS),
        position: 64 + number * 1100,
        length: 1100,
        record_count: 1,
        max_timestamp: TimestampMs(sequence as i64),
        producer: None,
        transactional: false,
    };
    let file = FileId {
        incarnation: Incarnation(1),
        lane,
        number: FileNumber(1 + (sequence / 20_000) as u32),
        sequence: 0,
    };
    CommitObject {
        object: ObjectId { incarnation: Incarnation(1), lane, sequence: LaneSequence(sequence) },
        location: Location { file, position: (sequence % 20_000) * 23_000 + 64, length: 23_000 },
        skips: Vec::new(),
        outcomes_received_up_to: LaneSequence(sequence.saturating_sub(60)),
        batches: (0..BATCHES).map(batch).collect(),
    }
}

/// Proposes commits in order with 32 in flight.
async fn run_commits(handle: &MetadataHandle, epoch: BrokerEpoch, count: u64) {
    let mut in_flight = std::collections::VecDeque::new();
    for sequence in 1..=count {
        in_flight.push_back(
            handle.propose_ordered(commit(epoch, sequence)).expect("the queue has room"),
        );
        if in_flight.len() >= 32 {
            let first = in_flight.pop_front().expect("32 are in flight");
            check(first.await.expect("it is committed"));
        }
    }
    for proposed in in_flight {
        check(proposed.await.expect("it is committed"));
    }
}

fn check(outcome: Outcome) {
    let Outcome::Object(batches) = outcome else { panic!("{outcome:?}") };
    assert!(batches.iter().all(|batch| batch.is_stored()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::disallowed_methods, reason = "what this test prints is real time")]
async fn a_life_that_saved_nothing_is_replayed() {
    let commits: u64 =
        std::env::var("TIDEMILL_REPLAY_COMMITS").map_or(3000, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let handle = start(directory.path(), true).await;
    println!("ready on an empty directory: {:?}", began.elapsed());
    let epoch = set_up(&handle).await;
    let began = Instant::now();
    run_commits(&handle, epoch, commits).await;
    let metrics = handle.metrics();
    let syncs = metrics.syncs.load(Ordering::Relaxed);
    let sync_us = metrics.sync_us_sum.load(Ordering::Relaxed) / syncs.max(1);
    println!("{commits} commits: {:?}, {syncs} syncs of {sync_us} us", began.elapsed());
    let applied = handle.applied_index();
    handle.close().await;
    drop(handle);

    let began = Instant::now();
    let handle = start(directory.path(), false).await;
    println!("replayed and ready: {:?}", began.elapsed());
    assert_eq!(handle.applied_index(), applied);
    // The last group commit is not known committed; it takes the way of new entries.
    let replayed = handle.metrics().entries_replayed.load(Ordering::Relaxed);
    assert!((commits + 2 - 40..=commits + 2).contains(&replayed), "{replayed}");
    while handle.metrics().saves.load(Ordering::Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let save_us = handle.metrics().save_us_last.load(Ordering::Relaxed);
    let stall_us = handle.metrics().save_stall_us_max.load(Ordering::Relaxed);
    println!("saved everything in {save_us} us, held up the loop for {stall_us} us");
    handle.close().await;
    drop(handle);

    let began = Instant::now();
    let handle = start(directory.path(), false).await;
    println!("loaded and ready: {:?}", began.elapsed());
    assert_eq!(handle.applied_index(), applied);
    assert_eq!(handle.metrics().entries_replayed.load(Ordering::Relaxed), 0);
    handle.close().await;
}
