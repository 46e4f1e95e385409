//! The table of topic configs: those of Kafka 4.1, and ours.

use super::{Accepts, Config, ConfigType};

const LONG_MAX: i64 = i64::MAX;
const INT_MAX: i64 = i32::MAX as i64;

const fn config(
    name: &'static str,
    kind: ConfigType,
    default: &'static str,
    accepts: Accepts,
    behind: Option<&'static str>,
    documentation: &'static str,
) -> Config {
    Config { name, kind, default, accepts, behind, documentation }
}

/// Every topic config that may be set, by name.
pub const TOPIC_CONFIGS: &[Config] = &[
    config(
        "cleanup.policy",
        ConfigType::List,
        "delete",
        Accepts::Only("delete", "compaction is not built yet"),
        Some("log.cleanup.policy"),
        "What happens to old records: delete drops them by retention.ms and retention.bytes. \
         compact is refused until compaction is built.",
    ),
    config(
        "compression.gzip.level",
        ConfigType::Int,
        "-1",
        Accepts::Whole(-1, 9),
        None,
        "Accepted, without effect here: records are stored as the producer sent them.",
    ),
    config(
        "compression.lz4.level",
        ConfigType::Int,
        "9",
        Accepts::Whole(1, 17),
        None,
        "Accepted, without effect here: records are stored as the producer sent them.",
    ),
    config(
        "compression.type",
        ConfigType::String,
        "producer",
        Accepts::Only("producer", "records are stored as the producer sent them"),
        Some("compression.type"),
        "Always producer: record batches are stored as they were sent and never compressed anew.",
    ),
    config(
        "compression.zstd.level",
        ConfigType::Int,
        "3",
        Accepts::Whole(-131_072, 22),
        None,
        "Accepted, without effect here: records are stored as the producer sent them.",
    ),
    config(
        "delete.retention.ms",
        ConfigType::Long,
        "86400000",
        Accepts::Whole(0, LONG_MAX),
        None,
        "Accepted, without effect here until compaction is built: how long a compacted topic keeps \
         tombstones.",
    ),
    config(
        "file.delete.delay.ms",
        ConfigType::Long,
        "60000",
        Accepts::Whole(0, LONG_MAX),
        None,
        "Accepted, without effect here: files hold many topics; an unreachable one is deleted after \
         the cluster's gc_grace_ms.",
    ),
    config(
        "flush.messages",
        ConfigType::Long,
        "9223372036854775807",
        Accepts::Whole(1, LONG_MAX),
        None,
        "Accepted, without effect here: every acknowledged record has been synced to the store.",
    ),
    config(
        "flush.ms",
        ConfigType::Long,
        "9223372036854775807",
        Accepts::Whole(0, LONG_MAX),
        None,
        "Accepted, without effect here: every acknowledged record has been synced to the store.",
    ),
    config(
        "follower.replication.throttled.replicas",
        ConfigType::List,
        "",
        Accepts::List,
        None,
        "Accepted, without effect here: brokers do not copy records to one another.",
    ),
    config(
        "index.interval.bytes",
        ConfigType::Int,
        "4096",
        Accepts::Whole(0, INT_MAX),
        None,
        "Accepted, without effect here: every stored extent is in the index.",
    ),
    config(
        "leader.replication.throttled.replicas",
        ConfigType::List,
        "",
        Accepts::List,
        None,
        "Accepted, without effect here: brokers do not copy records to one another.",
    ),
    config(
        "local.retention.bytes",
        ConfigType::Long,
        "-2",
        Accepts::Only("-2", "there is one store, not a local and a remote tier"),
        None,
        "Always -2 (as retention.bytes): there is one store, not a local and a remote tier.",
    ),
    config(
        "local.retention.ms",
        ConfigType::Long,
        "-2",
        Accepts::Only("-2", "there is one store, not a local and a remote tier"),
        None,
        "Always -2 (as retention.ms): there is one store, not a local and a remote tier.",
    ),
    config(
        "max.compaction.lag.ms",
        ConfigType::Long,
        "9223372036854775807",
        Accepts::Whole(1, LONG_MAX),
        None,
        "Accepted, without effect here until compaction is built.",
    ),
    config(
        "max.message.bytes",
        ConfigType::Int,
        "1048588",
        Accepts::Whole(0, INT_MAX),
        Some("message.max.bytes"),
        "The largest record batch that is accepted, in bytes, as the producer sent it.",
    ),
    config(
        "message.timestamp.after.max.ms",
        ConfigType::Long,
        "3600000",
        Accepts::Whole(0, LONG_MAX),
        Some("log.message.timestamp.after.max.ms"),
        "How far a CreateTime record's timestamp may lie ahead of the clock of the broker that \
         accepts it.",
    ),
    config(
        "message.timestamp.before.max.ms",
        ConfigType::Long,
        "9223372036854775807",
        Accepts::Whole(0, LONG_MAX),
        Some("log.message.timestamp.before.max.ms"),
        "How far a CreateTime record's timestamp may lie behind the clock of the broker that \
         accepts it.",
    ),
    config(
        "message.timestamp.type",
        ConfigType::String,
        "CreateTime",
        Accepts::OneOf(&["CreateTime", "LogAppendTime"]),
        Some("log.message.timestamp.type"),
        "Whose timestamps records carry: the producer's (CreateTime) or the clock of the broker that \
         accepts them (LogAppendTime; it need not rise with the offset across brokers).",
    ),
    config(
        "min.cleanable.dirty.ratio",
        ConfigType::Double,
        "0.5",
        Accepts::Number(0.0, 1.0),
        None,
        "Accepted, without effect here until compaction is built.",
    ),
    config(
        "min.compaction.lag.ms",
        ConfigType::Long,
        "0",
        Accepts::Whole(0, LONG_MAX),
        None,
        "Accepted, without effect here until compaction is built.",
    ),
    config(
        "min.insync.replicas",
        ConfigType::Int,
        "1",
        Accepts::Whole(1, INT_MAX),
        Some("min.insync.replicas"),
        "Accepted, without effect here: acks=all and acks=1 are both answered only when the records \
         are durable in the store and committed in the metadata, however many brokers live.",
    ),
    config(
        "preallocate",
        ConfigType::Boolean,
        "false",
        Accepts::Boolean,
        None,
        "Accepted, without effect here: files hold many topics and are always preallocated.",
    ),
    config(
        "remote.log.copy.disable",
        ConfigType::Boolean,
        "false",
        Accepts::Only("false", "there is one store, not a local and a remote tier"),
        None,
        "Always false: there is one store, not a local and a remote tier.",
    ),
    config(
        "remote.log.delete.on.disable",
        ConfigType::Boolean,
        "false",
        Accepts::Only("false", "there is one store, not a local and a remote tier"),
        None,
        "Always false: there is one store, not a local and a remote tier.",
    ),
    config(
        "remote.storage.enable",
        ConfigType::Boolean,
        "false",
        Accepts::Only("false", "there is one store, not a local and a remote tier"),
        None,
        "Always false: there is one store, not a local and a remote tier.",
    ),
    config(
        "retention.bytes",
        ConfigType::Long,
        "-1",
        Accepts::Whole(-1, LONG_MAX),
        Some("log.retention.bytes"),
        "How many bytes each partition keeps, at least; older ones are dropped. -1: no limit. Whole \
         index entries go at a time, so that somewhat more is kept.",
    ),
    config(
        "retention.ms",
        ConfigType::Long,
        "604800000",
        Accepts::Whole(-1, LONG_MAX),
        Some("log.retention.ms"),
        "How long records are kept after their timestamps, in milliseconds. -1: without limit. Whole \
         index entries go at a time, oldest offset first, each when its largest timestamp is old \
         enough. A batch without timestamps counts from its commit.",
    ),
    config(
        "segment.bytes",
        ConfigType::Int,
        "1073741824",
        Accepts::Whole(14, INT_MAX),
        Some("log.segment.bytes"),
        "Accepted, without effect here: files hold many topics and are closed at the store's size.",
    ),
    config(
        "segment.index.bytes",
        ConfigType::Int,
        "10485760",
        Accepts::Whole(4, INT_MAX),
        None,
        "Accepted, without effect here: there are no index files per partition.",
    ),
    config(
        "segment.jitter.ms",
        ConfigType::Long,
        "0",
        Accepts::Whole(0, LONG_MAX),
        None,
        "Accepted, without effect here: files hold many topics and are closed at the store's size.",
    ),
    config(
        "segment.ms",
        ConfigType::Long,
        "604800000",
        Accepts::Whole(1, LONG_MAX),
        Some("log.roll.ms"),
        "Accepted, without effect here: files hold many topics and are closed at the store's size; \
         retention does not wait for a file to be closed.",
    ),
    config(
        "tidemill.validate",
        ConfigType::String,
        "records",
        Accepts::OneOf(&["records", "header"]),
        None,
        "How far batches are checked before they are accepted: every record, decompressed within \
         bounds (records), or checksum, sizes and counts of the batch header only (header).",
    ),
    config(
        "unclean.leader.election.enable",
        ConfigType::Boolean,
        "false",
        Accepts::Boolean,
        None,
        "Accepted, without effect here: no acknowledged record depends on a broker, so that there is \
         nothing to lose in an election.",
    ),
];

/// Topic configs that Kafka once had, and why they are refused.
pub const TOPIC_REMOVED: &[(&str, &str)] = &[
    ("message.downconversion.enable", "Kafka 4 removed it; only record format 2 is served"),
    ("message.format.version", "Kafka 4 removed it; only record format 2 is stored"),
    (
        "message.timestamp.difference.max.ms",
        "Kafka 4 removed it; use message.timestamp.before.max.ms and message.timestamp.after.max.ms",
    ),
];
