//! What a node is configured with.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tidemill_base::BrokerId;
use tidemill_metadata_raft::RaftOptions;
use tidemill_storage_lane::LaneLimits;

use crate::listener::ListenerLimits;
use crate::view::FoldLimits;

/// What a node is configured with. Every value has a default but the data directory, which the
/// adapters behind the ports know.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Its broker id (`node.id`). Default 1.
    pub broker_id: BrokerId,
    /// Where it listens for Kafka clients; `None` in simulation. Default 127.0.0.1:9092.
    pub kafka_address: Option<SocketAddr>,
    /// The host that clients are told; default the address it listens on.
    pub advertised_host: Option<String>,
    /// The port that clients are told; default the port it listens on.
    pub advertised_port: Option<u16>,
    /// Its zone (`broker.rack`). Default none.
    pub zone: Option<String>,
    /// Its HTTP address, told to CLI commands (`tidemill.http.address`).
    pub http_address: Option<String>,
    /// Broker configs given at the start, by Kafka's name: `auto.create.topics.enable`,
    /// `num.partitions` and the like. What is altered for the cluster goes before them.
    pub startup_configs: BTreeMap<String, String>,
    /// Bytes of requests that may be in memory at once. Default 96 MiB.
    pub request_memory_bytes: u32,
    /// Bytes of recent records kept in memory. Default 96 MiB.
    pub hot_cache_bytes: u64,
    /// Bytes of older records, read from the store, kept in memory. Default 48 MiB.
    pub catch_up_read_bytes: u64,
    /// Bytes of records that answers may hold in memory until they are sent; what is sent straight
    /// from a file holds none. Default 32 MiB.
    pub answer_memory_bytes: u32,
    /// Bytes that answers may take besides records until they are sent. Default 16 MiB.
    pub answer_frame_memory_bytes: u32,
    /// Bytes that decoded requests may take beyond the length of their frames, until they are
    /// answered. Default 32 MiB.
    pub decoded_memory_bytes: u32,
    /// Bytes of groups that are held in memory. Default 32 MiB.
    pub group_memory_bytes: u64,
    /// Bytes of directories and blocks of index objects kept in memory. Default 16 MiB.
    pub index_cache_bytes: u64,
    /// The least that is sent straight from a file. Default 4 KiB.
    pub lent_bytes_min: usize,
    /// Lanes of flushes. Default 1.
    pub lanes: u16,
    /// Bounds of each lane.
    pub lane_limits: LaneLimits,
    /// Bounds of the listener.
    pub listener_limits: ListenerLimits,
    /// The metadata quorum's member.
    pub raft: RaftOptions,
    /// Incremental fetch sessions at once. Default 1,000.
    pub fetch_sessions_max: usize,
    /// Partitions in all fetch sessions together. Default 200,000.
    pub fetch_session_partitions_max: usize,
    /// How long deleted data stays readable for fetches under way, and how old garbage must be
    /// before it is deleted. Default 10 min.
    pub gc_grace: Duration,
    /// How often folding, garbage and expiry are looked after. Default 10 s.
    pub housekeeping_interval: Duration,
    /// How many extents may wait to be folded.
    pub fold_limits: FoldLimits,
    /// How often retention is looked after (`log.retention.check.interval.ms`); in every round of
    /// housekeeping while the disk is nearly full. Default 5 min, as in Kafka.
    pub retention_interval: Duration,
    /// Below this many free bytes produce is refused while consumers and retention go on. Default
    /// 256 MiB, less on small disks.
    pub free_bytes_low: u64,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            broker_id: BrokerId(1),
            kafka_address: Some(SocketAddr::from(([127, 0, 0, 1], 9092))),
            advertised_host: None,
            advertised_port: None,
            zone: None,
            http_address: None,
            startup_configs: BTreeMap::new(),
            request_memory_bytes: 96 << 20,
            hot_cache_bytes: 96 << 20,
            catch_up_read_bytes: 48 << 20,
            group_memory_bytes: 32 << 20,
            index_cache_bytes: 16 << 20,
            answer_memory_bytes: 32 << 20,
            answer_frame_memory_bytes: 16 << 20,
            decoded_memory_bytes: 32 << 20,
            lent_bytes_min: 4096,
            lanes: 1,
            lane_limits: LaneLimits::local_disk(),
            listener_limits: ListenerLimits::default(),
            raft: RaftOptions::default(),
            fetch_sessions_max: 1_000,
            fetch_session_partitions_max: 200_000,
            gc_grace: Duration::from_secs(600),
            housekeeping_interval: Duration::from_secs(10),
            fold_limits: FoldLimits::default(),
            retention_interval: Duration::from_secs(300),
            free_bytes_low: 256 << 20,
        }
    }
}

impl NodeConfig {
    /// A broker config given at the start, as a number.
    pub(crate) fn startup_number(&self, name: &str) -> Option<i64> {
        self.startup_configs.get(name)?.trim().parse().ok()
    }

    /// A broker config given at the start, as a yes or no.
    pub(crate) fn startup_flag(&self, name: &str) -> Option<bool> {
        self.startup_configs.get(name).map(|value| value.trim() == "true")
    }
}
