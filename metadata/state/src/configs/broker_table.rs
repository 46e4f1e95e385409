//! The table of broker configs: those that can be altered for the whole cluster, and those that a
//! broker reads when it starts.

use super::{Accepts, Config, ConfigType};

const LONG_MAX: i64 = i64::MAX;
const INT_MAX: i64 = i32::MAX as i64;

const fn config(
    name: &'static str,
    kind: ConfigType,
    default: &'static str,
    accepts: Accepts,
    documentation: &'static str,
) -> Config {
    Config { name, kind, default, accepts, behind: None, documentation }
}

/// Broker configs that can be altered, for every broker alike, by name.
pub const BROKER_CONFIGS: &[Config] = &[
    config(
        "auto.create.topics.enable",
        ConfigType::Boolean,
        "false",
        Accepts::Boolean,
        "Whether a topic that a client asks for by name, and allows to be created, is created.",
    ),
    config(
        "compression.type",
        ConfigType::String,
        "producer",
        Accepts::Only("producer", "records are stored as the producer sent them"),
        "Always producer: record batches are stored as they were sent.",
    ),
    config(
        "default.replication.factor",
        ConfigType::Int,
        "1",
        Accepts::Whole(1, 100),
        "The replication factor that is echoed for topics created without one. The store replicates, \
         not the brokers.",
    ),
    config(
        "group.initial.rebalance.delay.ms",
        ConfigType::Int,
        "3000",
        Accepts::Whole(0, INT_MAX),
        "How long the first rebalance of an empty group waits for more members.",
    ),
    config(
        "group.max.session.timeout.ms",
        ConfigType::Int,
        "1800000",
        Accepts::Whole(1, INT_MAX),
        "The longest session timeout a group member may ask for.",
    ),
    config(
        "group.max.size",
        ConfigType::Int,
        "2147483647",
        Accepts::Whole(1, INT_MAX),
        "The most members of one group. More than 2000 count as 2000.",
    ),
    config(
        "group.min.session.timeout.ms",
        ConfigType::Int,
        "6000",
        Accepts::Whole(1, INT_MAX),
        "The shortest session timeout a group member may ask for.",
    ),
    config(
        "log.cleanup.policy",
        ConfigType::List,
        "delete",
        Accepts::Only("delete", "compaction is not built yet"),
        "The default of cleanup.policy.",
    ),
    config(
        "log.message.timestamp.after.max.ms",
        ConfigType::Long,
        "3600000",
        Accepts::Whole(0, LONG_MAX),
        "The default of message.timestamp.after.max.ms.",
    ),
    config(
        "log.message.timestamp.before.max.ms",
        ConfigType::Long,
        "9223372036854775807",
        Accepts::Whole(0, LONG_MAX),
        "The default of message.timestamp.before.max.ms.",
    ),
    config(
        "log.message.timestamp.type",
        ConfigType::String,
        "CreateTime",
        Accepts::OneOf(&["CreateTime", "LogAppendTime"]),
        "The default of message.timestamp.type.",
    ),
    config(
        "log.retention.bytes",
        ConfigType::Long,
        "-1",
        Accepts::Whole(-1, LONG_MAX),
        "The default of retention.bytes.",
    ),
    config(
        "log.retention.ms",
        ConfigType::Long,
        "604800000",
        Accepts::Whole(-1, LONG_MAX),
        "The default of retention.ms.",
    ),
    config(
        "log.roll.ms",
        ConfigType::Long,
        "604800000",
        Accepts::Whole(1, LONG_MAX),
        "Accepted, without effect here: the default of segment.ms, which has none.",
    ),
    config(
        "log.segment.bytes",
        ConfigType::Int,
        "1073741824",
        Accepts::Whole(14, INT_MAX),
        "Accepted, without effect here: the default of segment.bytes, which has none.",
    ),
    config(
        "message.max.bytes",
        ConfigType::Int,
        "1048588",
        Accepts::Whole(0, INT_MAX),
        "The default of max.message.bytes.",
    ),
    config(
        "min.insync.replicas",
        ConfigType::Int,
        "1",
        Accepts::Whole(1, INT_MAX),
        "Accepted, without effect here: acknowledged records are durable in the store and committed \
         in the metadata, however many brokers live.",
    ),
    config(
        "num.partitions",
        ConfigType::Int,
        "1",
        Accepts::Whole(1, 10_000),
        "How many partitions a topic gets that is created without saying.",
    ),
    config(
        "offsets.retention.minutes",
        ConfigType::Int,
        "10080",
        Accepts::Whole(1, INT_MAX),
        "How long committed offsets are kept once the group has no members.",
    ),
    config(
        "producer.id.expiration.ms",
        ConfigType::Int,
        "86400000",
        Accepts::Whole(1, INT_MAX),
        "How long a partition remembers an idempotent producer that sends nothing.",
    ),
];

/// A config that a broker reads when it starts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReadOnlyConfig {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ConfigType,
    /// What it does here.
    pub documentation: &'static str,
}

const fn read_only(
    name: &'static str,
    kind: ConfigType,
    documentation: &'static str,
) -> ReadOnlyConfig {
    ReadOnlyConfig { name, kind, documentation }
}

/// Broker configs that are set where the broker is started, by name. Each broker supplies the
/// values.
pub const BROKER_READ_ONLY: &[ReadOnlyConfig] = &[
    read_only(
        "advertised.listeners",
        ConfigType::String,
        "The addresses that clients are told to use.",
    ),
    read_only("broker.id", ConfigType::Int, "The broker's id."),
    read_only("broker.rack", ConfigType::String, "The zone the broker runs in."),
    read_only(
        "connections.max.idle.ms",
        ConfigType::Long,
        "How long a connection may be idle before it is closed.",
    ),
    read_only("listeners", ConfigType::String, "The addresses the broker listens on."),
    read_only("log.dirs", ConfigType::String, "The directory of the store, when it is local."),
    read_only("node.id", ConfigType::Int, "The broker's id."),
    read_only(
        "offset.metadata.max.bytes",
        ConfigType::Int,
        "The longest metadata of a committed offset: 4096 bytes.",
    ),
    read_only("socket.request.max.bytes", ConfigType::Int, "The largest request that is accepted."),
    read_only(
        "socket.send.buffer.bytes",
        ConfigType::Int,
        "What the system is asked to hold of answers on their way to one client. 0: what it chooses.",
    ),
    read_only(
        "tidemill.http.address",
        ConfigType::String,
        "The broker's HTTP address: metrics, health, gRPC.",
    ),
];
