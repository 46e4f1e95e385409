//! A node: one process that holds a metadata member and a broker, over the ports it is given.
//!
//! The order of a start: metadata (recovered, leading), registration under a new epoch, lanes,
//! listener. From the registration on nothing of an earlier life of this broker can be committed.

mod advertised;
mod config;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tidemill_base::ports::{SharedClock, SharedSpawn};
use tidemill_base::{BrokerEpoch, ErrorKind, Incarnation, LaneId, LaneKey};
use tidemill_broker_logic::fetch::FetchSessions;
use tidemill_metadata_raft::{
    EventSink, MetadataHandle, NewCluster, OpenError, Ports, ProposeError, SharedStore,
};
use tidemill_metadata_state::Outcome;
use tidemill_metadata_state::command::{Listener, RegisterBroker};
use tidemill_storage_store::{
    Commits, GarbageCollector, GarbageCounters, HotCache, LogEnds, LogReader, LogReaderConfig,
    LogWriter, ReadCounters, SharedLogStore, SharedObjects, SpaceGuard, WriterCounters,
    WriterParts,
};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::authorization::AllowAll;
use crate::broker::Broker;
use crate::budget::Budget;
use crate::commits::MetadataCommits;
use crate::groups::Groups;
use crate::handlers::produce::BATCHES_UNDER_WAY_BYTES;
use crate::holdings::Turns;
use crate::housekeeping;
use crate::kafka_service::KafkaService;
use crate::listener::{self, ListenerCounters, ListenerMemory};
use crate::log_bytes::{LogBytes, check_batches};
use crate::log_reads::LogReads;
use crate::producer_ids::ProducerIds;
use crate::random_ids::RandomIds;
use crate::record_checks::RecordChecks;
use crate::request_metrics::RequestMetrics;
use crate::view::View;

pub use config::NodeConfig;

#[cfg(test)]
mod tests;

/// How long a drain waits, once connections are done with, for the metadata to be saved. What is not
/// saved is replayed by the next start.
pub const CLOSE_MAX: Duration = Duration::from_secs(10);

/// The feature level of this build.
const FEATURE_LEVEL: u16 = 1;

/// Puts something between the lanes and the metadata.
pub type WrapCommits = Arc<dyn Fn(Arc<dyn Commits>) -> Arc<dyn Commits> + Send + Sync>;

/// What the outside world gives to a node.
#[derive(Clone)]
pub struct NodePorts {
    /// The disk of the metadata log.
    pub meta_disk: tidemill_appendfile::SharedDisk,
    /// Where metadata state is saved.
    pub state_store: SharedStore,
    /// Where records are kept.
    pub log_store: SharedLogStore,
    /// Where index objects are kept.
    pub objects: SharedObjects,
    /// Watches the room on the disk, if there is a disk to watch.
    pub space: Option<Arc<SpaceGuard>>,
    /// Wall time.
    pub clock: SharedClock,
    /// Starts tasks.
    pub spawn: SharedSpawn,
    /// Wraps the way from the lanes to the metadata, for simulations that lose its messages; `None`
    /// in production.
    pub wrap_commits: Option<WrapCommits>,
    /// Makes ids unique: drawn from the operating system's randomness, or from a simulation's seed.
    pub seed: u128,
}

/// Why a node did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The metadata could not be opened.
    #[error(transparent)]
    Metadata(#[from] OpenError),
    /// The broker could not be registered.
    #[error("the broker was not registered: {0}")]
    Register(String),
    /// The listener could not be bound.
    #[error("cannot listen on {address}: {reason}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        reason: String,
    },
}

impl StartError {
    /// What the caller may do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Metadata(error) => error.kind(),
            Self::Register(_) => ErrorKind::Retry,
            Self::Bind { .. } => ErrorKind::Invalid,
        }
    }
}

/// A running node.
pub struct Node {
    broker: Arc<Broker>,
    service: Arc<KafkaService>,
    kafka_address: Option<SocketAddr>,
    closing: watch::Sender<bool>,
    counters: Counters,
    memory: Budget,
    partial_memory: Budget,
}

/// What the node's parts count.
#[derive(Clone)]
pub struct Counters {
    /// The listener.
    pub listener: Arc<ListenerCounters>,
    /// All lanes together.
    pub writer: Arc<WriterCounters>,
    /// Recent records in memory.
    pub cache: Arc<HotCache>,
    /// Reads of records.
    pub reads: Arc<ReadCounters>,
    /// Garbage deleted.
    pub garbage: Arc<GarbageCounters>,
}

impl Node {
    /// Starts a node and returns when it serves.
    ///
    /// # Errors
    /// [`StartError`] says what failed and what may be done.
    pub async fn start(mut config: NodeConfig, ports: NodePorts) -> Result<Self, StartError> {
        let bound = bind(&config)?;
        let kafka_address = bound.as_ref().and_then(|bound| bound.local_addr().ok());
        let listener = advertised::listener(&config, kafka_address);
        if let Some(bound) = kafka_address {
            advertised::describe(&mut config.startup_configs, bound, &listener);
        }
        let random_ids = RandomIds::new(ports.seed);
        let view = Arc::new(View::new(config.fold_limits));
        let metadata = open_metadata(&config, &ports, &view, &random_ids).await?;
        let epoch = register(&config, &metadata, listener).await?;
        let cache = Arc::new(HotCache::new(config.hot_cache_bytes));
        let reader = log_reader(&config, &ports, &cache);
        let garbage = GarbageCollector::new(
            Arc::clone(&ports.log_store),
            Arc::clone(&ports.objects),
            Arc::clone(&reader),
        );
        let counters = Counters {
            listener: Arc::default(),
            writer: Arc::default(),
            cache,
            reads: Arc::clone(reader.counters()),
            garbage: Arc::clone(garbage.counters()),
        };
        let lanes = start_lanes(&config, &ports, &metadata, &view, epoch, &counters);
        let (cluster_id, _) =
            metadata.with_state(|state| (state.cluster_id(), state.incarnation()));
        let bytes = LogBytes::new(reader, Arc::clone(&ports.objects), config.index_cache_bytes);
        let sessions = FetchSessions::new(
            config.fetch_sessions_max,
            config.fetch_session_partitions_max,
            random_ids.positive_i32(),
        );
        let groups = Groups::start(
            metadata.clone(),
            config.broker_id,
            epoch,
            Arc::clone(&ports.spawn),
            config.group_memory_bytes,
        );
        let broker = Arc::new(Broker {
            id: config.broker_id,
            epoch,
            cluster_id,
            clock: Arc::clone(&ports.clock),
            metadata,
            reads: LogReads::new(Arc::clone(&view), bytes, Budget::new(config.answer_memory_bytes)),
            view,
            lanes,
            groups,
            fetch_sessions: Mutex::new(sessions),
            producer_ids: ProducerIds::default(),
            random_ids,
            request_metrics: RequestMetrics::default(),
            authorizer: Arc::new(AllowAll),
            turns: Turns::default(),
            answer_frames: Budget::new(config.answer_frame_memory_bytes),
            decoded: Budget::new(config.decoded_memory_bytes),
            batches_under_way: Budget::new(BATCHES_UNDER_WAY_BYTES),
            decompressors: Mutex::default(),
            record_checks: RecordChecks::start(ports.spawn.as_ref()),
            space_low: AtomicBool::new(false),
            config,
        });
        housekeeping::start(&broker, garbage, &ports);
        Ok(Self::serve(broker, &ports.spawn, bound, kafka_address, counters))
    }

    fn serve(
        broker: Arc<Broker>,
        spawn: &SharedSpawn,
        bound: Option<TcpListener>,
        kafka_address: Option<SocketAddr>,
        counters: Counters,
    ) -> Self {
        let service = Arc::new(KafkaService::new(Arc::clone(&broker)));
        let (closing, closing_watch) = watch::channel(false);
        let memory = Budget::new(broker.config.request_memory_bytes);
        let partial_memory = Budget::new(broker.config.listener_limits.partial_bytes_max);
        if let Some(bound) = bound {
            let serving = listener::serve(
                bound,
                Arc::clone(&service) as Arc<dyn crate::service::Service>,
                broker.config.listener_limits.clone(),
                ListenerMemory {
                    requests: memory.clone(),
                    partial: partial_memory.clone(),
                    answers: broker.reads.answers().clone(),
                    answer_frames: broker.answer_frames.clone(),
                },
                Arc::clone(&counters.listener),
                Arc::clone(spawn),
                closing_watch,
            );
            spawn.task("listener", Box::pin(serving));
        }
        Self { broker, service, kafka_address, closing, counters, memory, partial_memory }
    }

    /// The broker that serves.
    #[must_use]
    pub fn broker(&self) -> &Arc<Broker> {
        &self.broker
    }

    /// What answers frames, for callers without a socket.
    #[must_use]
    pub fn service(&self) -> &Arc<KafkaService> {
        &self.service
    }

    /// Where it listens.
    #[must_use]
    pub fn kafka_address(&self) -> Option<SocketAddr> {
        self.kafka_address
    }

    /// What its parts count.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The memory of requests.
    #[must_use]
    pub fn request_memory(&self) -> &Budget {
        &self.memory
    }

    /// The memory of requests that were begun and wait for their rest.
    #[must_use]
    pub fn partial_request_memory(&self) -> &Budget {
        &self.partial_memory
    }

    /// Stops taking requests, answers those taken in for at most `answering_max`, saves the metadata
    /// within [`CLOSE_MAX`] and ends.
    pub async fn drain(self, answering_max: Duration) -> Drained {
        // No receiver is left if the listener has ended; then there is nothing to tell.
        let _ = self.closing.send(true);
        self.broker.groups.close();
        let deadline = tokio::time::Instant::now() + answering_max;
        let open = &self.counters.listener.open;
        while open.load(Ordering::Relaxed) > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let saved = tokio::time::timeout(CLOSE_MAX, self.broker.metadata.close()).await.is_ok();
        Drained { connections_left: open.load(Ordering::Relaxed), saved }
    }
}

/// How a drain ended. Whatever it says, nothing acknowledged is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drained {
    /// Connections with requests that were not answered in time.
    pub connections_left: u64,
    /// Whether the metadata was saved: if not, the next start replays more.
    pub saved: bool,
}

fn bind(config: &NodeConfig) -> Result<Option<TcpListener>, StartError> {
    let Some(address) = config.kafka_address else { return Ok(None) };
    listener::bind(address)
        .map(Some)
        .map_err(|error| StartError::Bind { address, reason: error.to_string() })
}

fn log_reader(config: &NodeConfig, ports: &NodePorts, cache: &Arc<HotCache>) -> Arc<LogReader> {
    Arc::new(LogReader::new(
        Arc::clone(cache),
        Arc::clone(&ports.log_store),
        Some(check_batches),
        LogReaderConfig {
            blocks_bytes_max: config.catch_up_read_bytes,
            lent_bytes_min: config.lent_bytes_min,
            ..LogReaderConfig::default()
        },
    ))
}

async fn open_metadata(
    config: &NodeConfig,
    ports: &NodePorts,
    view: &Arc<View>,
    random_ids: &RandomIds,
) -> Result<MetadataHandle, StartError> {
    let new_cluster = NewCluster { cluster_id: random_ids.uuid(), incarnation: Incarnation(1) };
    let new_cluster = is_without_data(ports).await.then_some(new_cluster);
    let raft_ports = Ports {
        disk: Arc::clone(&ports.meta_disk),
        store: Arc::clone(&ports.state_store),
        clock: Arc::clone(&ports.clock),
        spawn: Arc::clone(&ports.spawn),
        sink: Arc::clone(view) as Arc<dyn EventSink>,
    };
    Ok(tidemill_metadata_raft::open(config.raft.clone(), new_cluster, raft_ports).await?)
}

/// Whether nothing is stored yet. Otherwise no cluster may begin: it would know nothing of the records
/// there, and they would be collected as garbage. Lost metadata (a volume that is not mounted, say)
/// looks like none.
async fn is_without_data(ports: &NodePorts) -> bool {
    let log_files = ports.log_store.list().await;
    let objects = ports.objects.list().await;
    matches!((log_files, objects), (Ok(log_files), Ok(objects)) if log_files.is_empty() && objects.is_empty())
}

/// How long a registration waits that was not taken in, or whose answer was lost.
const REGISTER_AGAIN: Duration = Duration::from_millis(100);

/// Registers until the metadata answers: a lost answer costs an epoch, nothing else.
async fn register(
    config: &NodeConfig,
    metadata: &MetadataHandle,
    listener: Listener,
) -> Result<BrokerEpoch, StartError> {
    let command = RegisterBroker {
        broker: config.broker_id,
        listeners: vec![listener],
        zone: config.zone.clone(),
        http_address: config.http_address.clone(),
        feature_level_max: FEATURE_LEVEL,
    };
    loop {
        match metadata.propose(command.clone()).await {
            Ok(Outcome::Registered(epoch)) => return Ok(epoch),
            Ok(other) => return Err(StartError::Register(format!("{other:?}"))),
            Err(ProposeError::Ambiguous | ProposeError::Throttled) => {
                tokio::time::sleep(REGISTER_AGAIN).await;
            }
            Err(error) => return Err(StartError::Register(error.to_string())),
        }
    }
}

fn start_lanes(
    config: &NodeConfig,
    ports: &NodePorts,
    metadata: &MetadataHandle,
    view: &Arc<View>,
    epoch: BrokerEpoch,
    counters: &Counters,
) -> Vec<LogWriter> {
    let incarnation = metadata.with_state(tidemill_metadata_state::MetadataState::incarnation);
    let mut commits: Arc<dyn Commits> =
        Arc::new(MetadataCommits::new(metadata.clone(), Arc::clone(view)));
    if let Some(wrap) = &ports.wrap_commits {
        commits = wrap(commits);
    }
    let lane = |lane| {
        let (writer, task) = LogWriter::new(WriterParts {
            lane: LaneKey { broker: config.broker_id, epoch, lane: LaneId(lane) },
            incarnation,
            limits: config.lane_limits.clone(),
            store: Arc::clone(&ports.log_store),
            commits: Arc::clone(&commits),
            ends: Arc::clone(view) as Arc<dyn LogEnds>,
            cache: Arc::clone(&counters.cache),
            counters: Arc::clone(&counters.writer),
        });
        ports.spawn.task("lane", task);
        writer
    };
    (0..config.lanes.max(1)).map(lane).collect()
}
