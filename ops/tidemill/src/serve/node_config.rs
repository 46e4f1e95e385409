//! From settings to what a node is configured with.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tidemill_base::BrokerId;
use tidemill_broker_server::listener::ListenerLimits;
use tidemill_broker_server::node::NodeConfig;
use tidemill_metadata_raft::{LogOptions, RaftOptions};

use crate::config::{Config, KafkaSection, LogSection, MetadataSection};

/// What a node is configured with. Settings are within their ranges, so that numbers fit.
pub(super) fn node_config(config: &Config, http_address: SocketAddr) -> NodeConfig {
    let mut node = NodeConfig {
        broker_id: BrokerId(fitting(config.node.broker_id)),
        kafka_address: Some(config.kafka.listen_address),
        advertised_host: Some(advertised_host(&config.kafka)),
        advertised_port: match config.kafka.advertised_port {
            0 => None,
            port => Some(fitting(port)),
        },
        zone: Some(config.node.zone.clone()).filter(|zone| !zone.is_empty()),
        http_address: Some(http_address.to_string()),
        startup_configs: startup_configs(config, http_address),
        request_memory_bytes: fitting(config.memory.request_bytes),
        hot_cache_bytes: config.memory.hot_cache_bytes,
        catch_up_read_bytes: config.memory.catch_up_read_bytes,
        answer_memory_bytes: fitting(config.memory.answer_bytes),
        answer_frame_memory_bytes: fitting(config.memory.answer_frame_bytes),
        decoded_memory_bytes: fitting(config.memory.decoded_request_bytes),
        group_memory_bytes: config.memory.group_bytes,
        index_cache_bytes: config.memory.index_cache_bytes,
        lanes: fitting(config.log.lanes),
        listener_limits: listener_limits(&config.kafka, config.memory.partial_request_bytes),
        raft: raft_options(&config.metadata, config.memory.metadata_proposal_bytes),
        fetch_sessions_max: fitting(config.kafka.fetch_sessions_max),
        fetch_session_partitions_max: fitting(config.kafka.fetch_session_partitions_max),
        gc_grace: Duration::from_millis(config.log.gc_grace_ms),
        housekeeping_interval: Duration::from_millis(config.log.housekeeping_interval_ms),
        retention_interval: Duration::from_millis(config.log.retention_interval_ms),
        free_bytes_low: config.log.free_bytes_low,
        ..NodeConfig::default()
    };
    set_lane_limits(&mut node, &config.log);
    node
}

fn set_lane_limits(node: &mut NodeConfig, log: &LogSection) {
    let limits = &mut node.lane_limits;
    limits.object_bytes_max = log.object_bytes_max;
    limits.object_batches_max = fitting(log.object_batches_max);
    limits.linger = Duration::from_millis(log.linger_ms);
    limits.flush_timeout = Duration::from_millis(log.flush_timeout_ms);
    limits.slow_put = Duration::from_millis(log.slow_put_ms);
}

/// What the broker tells of itself in DescribeConfigs, by Kafka's names, and what stands behind the
/// configs of the cluster. Where it listens is known to the node alone.
fn startup_configs(config: &Config, http_address: SocketAddr) -> BTreeMap<String, String> {
    let (node, kafka) = (&config.node, &config.kafka);
    let mut configs = vec![
        ("auto.create.topics.enable", kafka.auto_create_topics.to_string()),
        ("num.partitions", kafka.default_partitions.to_string()),
        ("group.initial.rebalance.delay.ms", kafka.group_initial_rebalance_delay_ms.to_string()),
        ("broker.id", node.broker_id.to_string()),
        ("node.id", node.broker_id.to_string()),
        ("log.dirs", node.data_dir.clone()),
        ("connections.max.idle.ms", kafka.idle_timeout_ms.to_string()),
        ("socket.request.max.bytes", kafka.request_bytes_max.to_string()),
        ("socket.send.buffer.bytes", kafka.send_buffer_bytes.to_string()),
        ("tidemill.http.address", http_address.to_string()),
    ];
    if !node.zone.is_empty() {
        configs.push(("broker.rack", node.zone.clone()));
    }
    configs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn listener_limits(kafka: &KafkaSection, partial_bytes: u64) -> ListenerLimits {
    ListenerLimits {
        connections_max: fitting(kafka.connections_max),
        request_bytes_max: fitting(kafka.request_bytes_max),
        requests_in_flight_max: fitting(kafka.requests_in_flight_max),
        idle_timeout: Duration::from_millis(kafka.idle_timeout_ms),
        stall_timeout: Duration::from_millis(kafka.stall_timeout_ms),
        frame_timeout: Duration::from_millis(kafka.frame_timeout_ms),
        partial_bytes_max: fitting(partial_bytes),
        send_buffer_bytes: fitting(kafka.send_buffer_bytes),
    }
}

fn raft_options(metadata: &MetadataSection, proposal_bytes: u64) -> RaftOptions {
    RaftOptions {
        log: LogOptions {
            segment_bytes: metadata.log_segment_bytes,
            log_kept_bytes: metadata.log_kept_bytes,
        },
        proposal_bytes_pending_max: proposal_bytes,
        state_save_interval: Duration::from_millis(metadata.state_save_interval_ms),
        state_save_bytes: metadata.state_save_bytes,
        clock_skew_max: Duration::from_millis(metadata.clock_skew_max_ms),
        ..RaftOptions::default()
    }
}

/// Clients cannot connect to an unspecified address, so loopback is told for it.
fn advertised_host(kafka: &KafkaSection) -> String {
    if !kafka.advertised_host.is_empty() {
        return kafka.advertised_host.clone();
    }
    match kafka.listen_address.ip() {
        ip if !ip.is_unspecified() => ip.to_string(),
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.to_string(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.to_string(),
    }
}

/// A number that its range keeps within its type.
fn fitting<T: TryFrom<u64> + MaxValue>(value: u64) -> T {
    T::try_from(value).unwrap_or(T::MAX)
}

/// The largest number of a type.
trait MaxValue {
    const MAX: Self;
}

macro_rules! max_value {
    ($($number:ty),*) => { $(impl MaxValue for $number { const MAX: Self = <$number>::MAX; })* };
}

max_value!(u16, u32, i32, usize);

#[cfg(test)]
mod tests {
    use super::*;

    fn http() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 8080))
    }

    #[test]
    fn defaults_are_those_of_the_node() {
        let (made, default) = (node_config(&Config::default(), http()), NodeConfig::default());
        assert_eq!(made.broker_id, default.broker_id);
        assert_eq!(made.kafka_address, default.kafka_address);
        assert_eq!(made.request_memory_bytes, default.request_memory_bytes);
        assert_eq!(made.hot_cache_bytes, default.hot_cache_bytes);
        assert_eq!(made.catch_up_read_bytes, default.catch_up_read_bytes);
        assert_eq!(made.answer_memory_bytes, default.answer_memory_bytes);
        assert_eq!(made.answer_frame_memory_bytes, default.answer_frame_memory_bytes);
        assert_eq!(made.decoded_memory_bytes, default.decoded_memory_bytes);
        assert_eq!(made.group_memory_bytes, default.group_memory_bytes);
        assert_eq!(made.index_cache_bytes, default.index_cache_bytes);
        assert_eq!(made.lanes, default.lanes);
        assert_eq!(format!("{:?}", made.lane_limits), format!("{:?}", default.lane_limits));
        assert_eq!(format!("{:?}", made.listener_limits), format!("{:?}", default.listener_limits));
        assert_eq!(made.raft, default.raft);
        assert_eq!(made.fetch_sessions_max, default.fetch_sessions_max);
        assert_eq!(made.fetch_session_partitions_max, default.fetch_session_partitions_max);
        assert_eq!(made.gc_grace, default.gc_grace);
        assert_eq!(made.housekeeping_interval, default.housekeeping_interval);
        assert_eq!(made.retention_interval, default.retention_interval);
        assert_eq!(made.free_bytes_low, default.free_bytes_low);
    }

    #[test]
    fn clients_are_told_an_address_they_can_connect_to() {
        let mut config = Config::default();
        let told = |config: &Config| node_config(config, http()).advertised_host.unwrap();
        config.kafka.listen_address = "0.0.0.0:9092".parse().unwrap();
        assert_eq!(told(&config), "127.0.0.1");
        config.kafka.listen_address = "10.1.2.3:9092".parse().unwrap();
        assert_eq!(told(&config), "10.1.2.3");
        config.kafka.advertised_host = "broker.example".to_owned();
        assert_eq!(told(&config), "broker.example");
    }
}
