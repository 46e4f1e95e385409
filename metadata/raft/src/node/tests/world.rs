//! What a member under test lives in: a disk and a store in memory that outlive it, a clock that the
//! test sets, and a projection fed by its events.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tidemill_appendfile::SharedDisk;
use tidemill_appendfile::twin::{FaultyDisk, MemoryDisk, ToxicKind, Toxics};
use tidemill_base::ids::Uuid;
use tidemill_base::ports::{BoxFuture, Clock, SharedSpawn, Spawn};
use tidemill_base::{AppliedIndex, Incarnation, PartitionId, TimestampMs, TopicId};
use tidemill_metadata_state::command::CreateTopic;
use tidemill_metadata_state::{Covered, Event, MetadataState, Outcome, Projection};
use tokio::task::JoinSet;

use crate::doomed_disk::{Doom, DoomedDisk};
use crate::error::OpenError;
use crate::handle::MetadataHandle;
use crate::node::{NewCluster, Ports, open};
use crate::options::{LogOptions, RaftOptions};
use crate::save::memory_store::MemoryStore;
use crate::watch::EventSink;

pub(crate) const CLUSTER: Uuid = Uuid::from_u128(0xc1);

pub(crate) struct World {
    pub(crate) memory: MemoryDisk,
    pub(crate) toxics: Toxics<ToxicKind>,
    pub(crate) store: MemoryStore,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) options: RaftOptions,
}

/// One life of the member.
pub(crate) struct Life {
    pub(crate) handle: MetadataHandle,
    pub(crate) sink: Arc<ProjectionSink>,
    tasks: Arc<Tasks>,
}

pub(crate) struct TestClock(pub(crate) AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> TimestampMs {
        TimestampMs(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Default)]
pub(crate) struct Tasks(Mutex<JoinSet<()>>);

impl Spawn for Tasks {
    fn task(&self, _name: &'static str, task: BoxFuture<'static, ()>) {
        self.0.lock().spawn(task);
    }

    fn dedicated(&self, _name: &'static str, task: BoxFuture<'static, ()>) {
        self.0.lock().spawn(task);
    }
}

/// Keeps a projection, which checks that ranges follow one another.
#[derive(Default)]
pub(crate) struct ProjectionSink(pub(crate) Mutex<Projection>);

impl EventSink for ProjectionSink {
    fn deliver(&self, from: AppliedIndex, to: AppliedIndex, events: &[Event]) {
        self.0.lock().apply(Covered { from, to }, events).expect("ranges follow one another");
    }
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let options = RaftOptions {
            log: LogOptions { segment_bytes: 2000, log_kept_bytes: 3000 },
            ..RaftOptions::default()
        };
        Self {
            memory: MemoryDisk::new(),
            toxics: Toxics::new(seed),
            store: MemoryStore::default(),
            clock: Arc::new(TestClock(AtomicI64::new(1_000_000))),
            options,
        }
    }

    fn disk(&self) -> SharedDisk {
        Arc::new(FaultyDisk::over_memory(self.memory.clone(), self.toxics.clone()))
    }

    pub(crate) async fn open(&self) -> Result<Life, OpenError> {
        self.open_on(self.disk(), Arc::default()).await
    }

    /// Opens a member whose process dies at a call of its disk. `None` if it dies while opening.
    pub(crate) async fn open_doomed(
        &self,
        calls: u64,
        carried_out: bool,
    ) -> Option<(Result<Life, OpenError>, Arc<Doom>)> {
        let (disk, doom) = DoomedDisk::new(self.disk(), calls, carried_out);
        let tasks = Arc::<Tasks>::default();
        let opening = self.open_on(disk, Arc::clone(&tasks));
        match tokio::time::timeout(Duration::from_secs(60), opening).await {
            Ok(life) => Some((life, doom)),
            Err(_) => {
                tasks.end().await;
                None
            }
        }
    }

    async fn open_on(&self, disk: SharedDisk, tasks: Arc<Tasks>) -> Result<Life, OpenError> {
        let sink = Arc::new(ProjectionSink::default());
        let spawn = Arc::clone(&tasks) as SharedSpawn;
        let ports = Ports { spawn, sink: Arc::clone(&sink) as _, ..self.ports(disk) };
        let handle = open(self.options.clone(), Some(self.new_cluster()), ports).await?;
        Ok(Life { handle, sink, tasks })
    }

    pub(crate) fn new_cluster(&self) -> NewCluster {
        NewCluster { cluster_id: CLUSTER, incarnation: Incarnation(1) }
    }

    /// The ports of a life whose events and tasks do not matter.
    pub(crate) fn ports(&self, disk: SharedDisk) -> Ports {
        Ports {
            disk,
            store: Arc::new(self.store.clone()),
            clock: Arc::clone(&self.clock) as _,
            spawn: Arc::<Tasks>::default(),
            sink: Arc::<ProjectionSink>::default(),
        }
    }

    /// Ends the life as kill -9 does, and then perhaps as a power cut does.
    pub(crate) async fn crash(&self, life: Option<Life>, power_cut: Option<u64>) {
        if let Some(life) = life {
            life.tasks.end().await;
        }
        self.memory.kill();
        self.store.crash();
        if let Some(seed) = power_cut {
            self.memory.crash(seed);
        }
    }
}

impl Tasks {
    async fn end(&self) {
        let mut tasks = std::mem::take(&mut *self.0.lock());
        tasks.shutdown().await;
    }
}

/// The command number `number`, from 1: a topic of one partition. Partition ids are given out in
/// the order of apply, so that the outcome tells the place in the log.
pub(crate) fn topic(number: u32) -> CreateTopic {
    CreateTopic {
        name: format!("topic-{number:05}"),
        id: TopicId(Uuid::from_u128(u128::from(number))),
        partitions: 1,
        replication_factor: 1,
        configs: Vec::new(),
    }
}

/// What the command number `number` is answered if all before it were applied, in order.
pub(crate) fn outcome(number: u32) -> Outcome {
    Outcome::Partitions(vec![PartitionId(number)])
}

/// How many of the commands are applied; fails unless they are the first ones, in order.
pub(crate) fn topics_applied(state: &MetadataState) -> u32 {
    let mut count = 0;
    for found in state.topics() {
        count += 1;
        let expected = topic(count);
        assert_eq!((&found.name, found.id), (&expected.name, expected.id));
        assert_eq!(found.partitions, [PartitionId(count)], "in the order of apply");
    }
    count
}

/// Fails unless the projection that events built shows what the state holds.
pub(crate) fn check_projection(life: &Life) {
    let projection = life.sink.0.lock();
    life.handle.with_state(|state| {
        assert_eq!(projection.applied_index(), state.applied_index());
        assert!(projection.topics().eq(state.topics()), "projection and state differ");
    });
}
