//! The settings of a server: what they are called, what they mean, what they may be.
//!
//! - Every setting is one field here and one row of [`keys::KEYS`]; a row holds the range and the
//!   meaning, so that `--print-config`, the documentation and the check of a file cannot differ.
//! - A file may leave out everything. An unknown section or key is refused by name.
//! - Nothing is read that has no effect.
//!
//! Not here: what topics and the cluster can be configured to while it runs (metadata/state).

mod check;
mod file;
mod key;
mod keys;
mod memory;
mod page;
mod value;

use std::net::{Ipv4Addr, SocketAddr};

pub(crate) use check::{check_fits_together, check_listens_safely};
pub(crate) use file::{apply_file, apply_setting};
pub(crate) use keys::KEYS;
pub(crate) use memory::{MEMORY_BUDGETS_MAX_BYTES, memory_budgets_bytes};
pub(crate) use page::{configuration_page, print_config};

/// Every setting.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Config {
    pub(crate) node: NodeSection,
    pub(crate) kafka: KafkaSection,
    pub(crate) http: HttpSection,
    pub(crate) postgres: PostgresSection,
    pub(crate) memory: MemorySection,
    pub(crate) log: LogSection,
    pub(crate) metadata: MetadataSection,
}

/// The process.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NodeSection {
    pub(crate) broker_id: u64,
    pub(crate) data_dir: String,
    pub(crate) zone: String,
    pub(crate) worker_threads: u64,
    pub(crate) drain_timeout_ms: u64,
}

/// The Kafka listener and what clients are offered.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KafkaSection {
    pub(crate) listen_address: SocketAddr,
    pub(crate) advertised_host: String,
    pub(crate) advertised_port: u64,
    pub(crate) auto_create_topics: bool,
    pub(crate) default_partitions: u64,
    pub(crate) group_initial_rebalance_delay_ms: u64,
    pub(crate) connections_max: u64,
    pub(crate) request_bytes_max: u64,
    pub(crate) requests_in_flight_max: u64,
    pub(crate) idle_timeout_ms: u64,
    pub(crate) stall_timeout_ms: u64,
    pub(crate) frame_timeout_ms: u64,
    pub(crate) send_buffer_bytes: u64,
    pub(crate) fetch_sessions_max: u64,
    pub(crate) fetch_session_partitions_max: u64,
}

/// Metrics and health.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct HttpSection {
    pub(crate) listen_address: SocketAddr,
    pub(crate) connections_max: u64,
}

/// SQL, later.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PostgresSection {
    pub(crate) listen_address: SocketAddr,
}

/// How much memory each kind of work may hold.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MemorySection {
    pub(crate) request_bytes: u64,
    pub(crate) hot_cache_bytes: u64,
    pub(crate) catch_up_read_bytes: u64,
    pub(crate) answer_bytes: u64,
    pub(crate) answer_frame_bytes: u64,
    pub(crate) partial_request_bytes: u64,
    pub(crate) decoded_request_bytes: u64,
    pub(crate) group_bytes: u64,
    pub(crate) index_cache_bytes: u64,
    pub(crate) metadata_proposal_bytes: u64,
}

/// Log objects and their files.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LogSection {
    pub(crate) lanes: u64,
    pub(crate) linger_ms: u64,
    pub(crate) object_bytes_max: u64,
    pub(crate) object_batches_max: u64,
    pub(crate) flush_timeout_ms: u64,
    pub(crate) slow_put_ms: u64,
    pub(crate) file_bytes_max: u64,
    pub(crate) file_reserve_bytes: u64,
    pub(crate) open_files_max: u64,
    pub(crate) free_bytes_low: u64,
    pub(crate) gc_grace_ms: u64,
    pub(crate) housekeeping_interval_ms: u64,
    pub(crate) retention_interval_ms: u64,
}

/// The metadata log and its state.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MetadataSection {
    pub(crate) state_save_interval_ms: u64,
    pub(crate) state_save_bytes: u64,
    pub(crate) log_segment_bytes: u64,
    pub(crate) log_kept_bytes: u64,
    pub(crate) clock_skew_max_ms: u64,
}

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

const MIB: u64 = 1 << 20;

impl Default for Config {
    fn default() -> Self {
        Self {
            node: NodeSection {
                broker_id: 1,
                data_dir: "./tidemill-data".to_owned(),
                zone: String::new(),
                worker_threads: 0,
                drain_timeout_ms: 30_000,
            },
            kafka: KafkaSection {
                listen_address: loopback(9092),
                advertised_host: String::new(),
                advertised_port: 0,
                auto_create_topics: false,
                default_partitions: 1,
                group_initial_rebalance_delay_ms: 3_000,
                connections_max: 16_384,
                request_bytes_max: 64 * MIB,
                requests_in_flight_max: 64,
                idle_timeout_ms: 600_000,
                stall_timeout_ms: 30_000,
                frame_timeout_ms: 60_000,
                send_buffer_bytes: 200 * 1024,
                fetch_sessions_max: 1_000,
                fetch_session_partitions_max: 200_000,
            },
            http: HttpSection { listen_address: loopback(8080), connections_max: 256 },
            postgres: PostgresSection { listen_address: loopback(5433) },
            memory: MemorySection {
                request_bytes: 96 * MIB,
                hot_cache_bytes: 96 * MIB,
                catch_up_read_bytes: 48 * MIB,
                answer_bytes: 32 * MIB,
                answer_frame_bytes: 16 * MIB,
                partial_request_bytes: 32 * MIB,
                decoded_request_bytes: 32 * MIB,
                group_bytes: 32 * MIB,
                index_cache_bytes: 16 * MIB,
                metadata_proposal_bytes: 32 * MIB,
            },
            log: LogSection {
                lanes: 1,
                linger_ms: 0,
                object_bytes_max: 4 * MIB,
                object_batches_max: 8192,
                flush_timeout_ms: 30_000,
                slow_put_ms: 2_000,
                file_bytes_max: 512 * MIB,
                file_reserve_bytes: 64 * MIB,
                open_files_max: 256,
                free_bytes_low: 256 * MIB,
                gc_grace_ms: 600_000,
                housekeeping_interval_ms: 10_000,
                retention_interval_ms: 300_000,
            },
            metadata: MetadataSection {
                state_save_interval_ms: 2_000,
                state_save_bytes: 32 * MIB,
                log_segment_bytes: 32 * MIB,
                log_kept_bytes: 64 * MIB,
                clock_skew_max_ms: 10_000,
            },
        }
    }
}

impl Config {
    /// The settings that `tidemill dev` starts from.
    pub(crate) fn for_development() -> Self {
        let mut config = Self::default();
        config.kafka.auto_create_topics = true;
        config.kafka.group_initial_rebalance_delay_ms = 0;
        config
    }
}
