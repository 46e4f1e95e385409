//! The lives of the node: starting it, ending it, and who it is now.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tidemill_base::ports::{SharedClock, SharedSpawn};
use tidemill_broker_server::node::{Node, NodeConfig, NodePorts};
use tidemill_broker_server::view::FoldLimits;
use tidemill_storage_store::{
    Commits, DiskObjects, FileLogConfig, FileLogStore, Objects, SpaceGuard, SpaceLimits,
};
use tokio::sync::Notify;

use super::chance::Chance;
use super::clock::SimClock;
use super::disks::Disks;
use super::lossy_commits::{LossRates, LossyCommits};
use super::tasks::LifeTasks;
use crate::rare_events::RareEvents;

/// How long a start may take under faults before the supervisor kills it and tries again.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// Small files, so that runs seal and fold some.
const FILE_BYTES: u64 = 256 << 10;
/// The marks of the disk, in the proportions of a real one.
pub const SPACE: SpaceLimits =
    SpaceLimits { low_water_bytes: 1 << 20, critical_bytes: 128 << 10, reserve_bytes: 256 << 10 };

/// How long what is unreachable stays, unless room is low.
pub const GC_GRACE: Duration = Duration::from_secs(30);

/// Tells that a life has ended. Who waits is woken in the order of waiting: the watch of tokio wakes in
/// an order of chance, which would make two runs of a seed differ.
#[derive(Debug, Default)]
pub struct Ended {
    is_over: AtomicBool,
    waiters: Notify,
}

impl Ended {
    /// Returns once the life has ended.
    pub async fn wait(&self) {
        let mut woken = pin!(self.waiters.notified());
        woken.as_mut().enable();
        if !self.is_over.load(Ordering::Relaxed) {
            woken.await;
        }
    }

    fn tell(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.waiters.notify_waiters();
    }
}

/// A life of the node.
pub struct Life {
    /// Its number, from 1.
    pub number: u64,
    /// Tells when it has ended.
    pub ended: Arc<Ended>,
    /// The node.
    pub node: Node,
    /// What watches the room on its disk.
    pub space: Arc<SpaceGuard>,
    tasks: Arc<LifeTasks>,
}

/// All lives of the node, one after another.
#[derive(Clone)]
pub struct Lives {
    /// What outlives them.
    pub disks: Disks,
    /// The wall clock.
    pub clock: SimClock,
    /// How often messages between lanes and metadata are lost.
    pub loss: LossRates,
    chance: Chance,
    rare_events: RareEvents,
    current: Arc<Mutex<Option<Arc<Life>>>>,
    count: Arc<Mutex<u64>>,
    /// The tasks of a start under way.
    starting: Arc<Mutex<Option<Arc<LifeTasks>>>>,
}

impl Lives {
    /// No life yet.
    #[must_use]
    pub fn new(chance: Chance, rare_events: RareEvents) -> Self {
        Self {
            disks: Disks::new(chance.seed()),
            clock: SimClock::start(),
            loss: LossRates::default(),
            chance,
            rare_events,
            current: Arc::default(),
            count: Arc::default(),
            starting: Arc::default(),
        }
    }

    /// The present life, if the node is up.
    #[must_use]
    pub fn current(&self) -> Option<Arc<Life>> {
        self.current.lock().clone()
    }

    /// Starts the node, again and again until it is up.
    pub async fn start(&self) {
        loop {
            let number = {
                let mut count = self.count.lock();
                *count += 1;
                *count
            };
            let tasks = Arc::new(LifeTasks::default());
            *self.starting.lock() = Some(Arc::clone(&tasks));
            let started =
                tokio::time::timeout(START_PATIENCE, self.start_once(number, &tasks)).await;
            self.starting.lock().take();
            if let Ok(Some((node, space))) = started {
                let life = Life { number, ended: Arc::default(), node, space, tasks };
                *self.current.lock() = Some(Arc::new(life));
                return;
            }
            tasks.kill().await;
            self.disks.kill();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Writes a side object into the present life's store, past the node.
    pub async fn put_object(
        &self,
        object: tidemill_base::ObjectId,
        bytes: bytes::Bytes,
    ) -> Option<tidemill_base::Location> {
        let spawn = self.current()?.tasks.clone() as SharedSpawn;
        let objects = DiskObjects::open(self.disks.disk(), spawn).await.ok()?;
        objects.put(object, vec![bytes]).await.ok()
    }

    /// Kills a start whose future was dropped half-way.
    pub async fn abandon_start(&self, loses_power: bool) {
        let tasks = self.starting.lock().take();
        if let Some(tasks) = tasks {
            tasks.kill().await;
        }
        self.end_disks(loses_power);
    }

    fn end_disks(&self, loses_power: bool) {
        match loses_power {
            true => self.disks.lose_power(self.chance.seed()),
            false => self.disks.kill(),
        }
    }

    async fn start_once(
        &self,
        number: u64,
        tasks: &Arc<LifeTasks>,
    ) -> Option<(Node, Arc<SpaceGuard>)> {
        let spawn: SharedSpawn = Arc::clone(tasks) as SharedSpawn;
        let disk = self.disks.disk();
        let file_config =
            FileLogConfig { file_bytes_max: FILE_BYTES, reserve_bytes: 0, ..Default::default() };
        let log_store =
            FileLogStore::open(Arc::clone(&disk), Arc::clone(&spawn), file_config).await.ok()?;
        let objects = DiskObjects::open(Arc::clone(&disk), Arc::clone(&spawn)).await.ok()?;
        let space = SpaceGuard::open(Arc::clone(&disk), SPACE).await.ok()?;
        let (rates, chance) = (self.loss.clone(), self.chance.clone());
        let wrap = move |inner: Arc<dyn Commits>| -> Arc<dyn Commits> {
            Arc::new(LossyCommits { inner, rates: rates.clone(), chance: chance.clone() })
        };
        let ports = NodePorts {
            meta_disk: disk,
            state_store: Arc::new(self.disks.state.clone()),
            log_store: Arc::new(log_store),
            objects: Arc::new(objects),
            space: Some(Arc::clone(&space)),
            clock: Arc::new(self.clock.clone()) as SharedClock,
            spawn,
            wrap_commits: Some(Arc::new(wrap)),
            seed: u128::from(self.chance.seed()) << 64 | u128::from(number),
        };
        match Node::start(config(), ports).await {
            Ok(node) => Some((node, space)),
            Err(error) => {
                tracing::info!(%error, "the node did not start");
                None
            }
        }
    }

    /// Ends the present life where it stands: by losing power, or by killing the process alone.
    pub async fn end(&self, loses_power: bool) {
        let life = self.current.lock().take();
        let Some(life) = life else { return };
        life.ended.tell();
        self.rare_events.take_from(&life.node);
        life.tasks.kill().await;
        self.end_disks(loses_power);
    }
}

fn config() -> NodeConfig {
    let mut config = NodeConfig {
        kafka_address: None,
        hot_cache_bytes: 256 << 10,
        // Batches are small here; all of them may be sent from their files.
        lent_bytes_min: 1,
        // Few enough that commits are held back.
        fold_limits: FoldLimits { fold_above: 16, hold_above: 24 },
        catch_up_read_bytes: 256 << 10,
        gc_grace: GC_GRACE,
        housekeeping_interval: Duration::from_secs(1),
        retention_interval: Duration::from_secs(1),
        ..NodeConfig::default()
    };
    // Members of groups are given up and found again within a run.
    config.startup_configs.extend(
        [("group.min.session.timeout.ms", "500"), ("group.initial.rebalance.delay.ms", "100")]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    config.lane_limits.flush_timeout = Duration::from_secs(5);
    config.lane_limits.slow_put = Duration::from_millis(500);
    config.raft.state_save_interval = Duration::from_millis(700);
    config.raft.log.segment_bytes = 64 << 10;
    config.raft.log.log_kept_bytes = 128 << 10;
    config
}
