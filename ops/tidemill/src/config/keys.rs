//! The table of settings. A new setting is a field of a section, a row here, and where it is used.

use crate::config::key::{Key, Range};
use crate::config::value::Field;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

macro_rules! key {
    ($section:ident.$field:ident, $range:expr, $meaning:expr) => {
        Key {
            section: stringify!($section),
            name: stringify!($field),
            range: $range,
            meaning: $meaning,
            get: |config| config.$section.$field.value(),
            set: |config, value| config.$section.$field.take(value),
        }
    };
}

/// The sections in the order in which they are printed, and what each is about.
pub(crate) const SECTIONS: &[(&str, &str)] = &[
    ("node", "The process."),
    ("kafka", "The listener for Kafka clients, and what it offers."),
    ("http", "Metrics and health: /metrics, /healthz, /readyz."),
    ("postgres", "Reserved for SQL, which arrives in a later release."),
    (
        "memory",
        "How much memory each kind of work may hold. Past a budget work waits; nothing fails.",
    ),
    ("log", "The files that records are written to."),
    ("metadata", "The metadata log and the state made from it."),
];

/// Every setting.
pub(crate) const KEYS: &[Key] = &[
    key!(
        node.broker_id,
        Range::Count(0, i32::MAX as u64),
        "This broker's id. Clients see it; it must stay the same over restarts."
    ),
    key!(
        node.data_dir,
        Range::Directory,
        "Where everything is kept: records, metadata, and the lock that keeps a second process out."
    ),
    key!(
        node.zone,
        Range::Host,
        "The zone (data centre, rack) that this broker runs in; told to clients as its rack. Empty: none."
    ),
    key!(
        node.worker_threads,
        Range::Count(0, 1024),
        "Threads that serve connections. 0: one for each processor that the process may use."
    ),
    key!(
        node.drain_timeout_ms,
        Range::Millis(1, HOUR_MS),
        "How long a stop by SIGTERM or SIGINT may take to answer what was taken in. After that the \
         process saves its metadata, for 10 s at most, and ends anyway, which loses nothing that was \
         acknowledged."
    ),
    key!(
        kafka.listen_address,
        Range::Address,
        "Where to listen for Kafka clients. Port 0 takes a free one. Beyond loopback it needs \
         --insecure, since clients are not authenticated in this release."
    ),
    key!(
        kafka.advertised_host,
        Range::Host,
        "The host that clients are told to connect to. Empty: the listen address, or 127.0.0.1 where \
         that is unspecified. Set it when clients reach this machine by another name."
    ),
    key!(
        kafka.advertised_port,
        Range::Count(0, u16::MAX as u64),
        "The port that clients are told to connect to. 0: the one that is listened on."
    ),
    key!(
        kafka.auto_create_topics,
        Range::Bool,
        "Whether a topic is created when a client first asks for it. Off, so that a misspelled name is \
         an error; `tidemill dev` sets it to true."
    ),
    key!(
        kafka.default_partitions,
        Range::Count(1, 10_000),
        "How many partitions a topic gets that is created without saying."
    ),
    key!(
        kafka.group_initial_rebalance_delay_ms,
        Range::Millis(0, 10 * MINUTE_MS),
        "How long the first members of a group wait for others to join, which saves rebalances when many \
         start together. `tidemill dev` sets it to 0."
    ),
    key!(
        kafka.connections_max,
        Range::Count(1, 1_000_000),
        "Connections open at once; further ones are closed at once. Each takes a file descriptor, of \
         which the system's limit must allow more."
    ),
    key!(
        kafka.request_bytes_max,
        Range::Bytes(MIB, GIB),
        "The largest request. A connection that announces a larger one is closed."
    ),
    key!(
        kafka.requests_in_flight_max,
        Range::Count(1, 10_000),
        "Requests of one connection that may wait for their answers; beyond that it is not read from."
    ),
    key!(
        kafka.idle_timeout_ms,
        Range::Millis(1000, 24 * HOUR_MS),
        "A connection on which nothing moves for so long is closed."
    ),
    key!(
        kafka.stall_timeout_ms,
        Range::Millis(1000, HOUR_MS),
        "A request that was begun, or an answer that is being sent, must move on within this time, so \
         that a stuck client does not hold memory."
    ),
    key!(
        kafka.frame_timeout_ms,
        Range::Millis(1000, HOUR_MS),
        "A request must be whole so long after it was begun, however steadily it trickles in: it holds \
         memory that others wait for."
    ),
    key!(
        kafka.send_buffer_bytes,
        Range::Bytes(0, GIB),
        "What the system is asked to hold of answers on their way to one client. Little keeps what is sent \
         in the processor's caches, which takes a third less of its time; a client far away gets at most \
         about twice this per round trip. 0: the system chooses, and grows it as needed."
    ),
    key!(
        kafka.fetch_sessions_max,
        Range::Count(0, 1_000_000),
        "Incremental fetch sessions at once; consumers beyond it send full fetch requests."
    ),
    key!(
        kafka.fetch_session_partitions_max,
        Range::Count(0, 100_000_000),
        "Partitions in all fetch sessions together, which bounds what they may remember."
    ),
    key!(
        http.listen_address,
        Range::Address,
        "Where to serve metrics and health. Port 0 takes a free one. Beyond loopback it needs --insecure."
    ),
    key!(
        http.connections_max,
        Range::Count(1, 100_000),
        "Connections open at once; a further one takes the place of the one that is slowest with its request."
    ),
    key!(
        postgres.listen_address,
        Range::Address,
        "The address that SQL clients will use. Nothing listens on it in this release."
    ),
    key!(
        memory.request_bytes,
        Range::Bytes(16 * MIB, 4 * GIB - MIB),
        "Requests being read, waiting or written to disk. Connections wait their turn beyond it. Must \
         hold the largest request."
    ),
    key!(
        memory.hot_cache_bytes,
        Range::Bytes(0, 64 * GIB),
        "The newest records, from which consumers that keep up are served. More helps consumers that lag \
         a little."
    ),
    key!(
        memory.catch_up_read_bytes,
        Range::Bytes(4 * MIB, 64 * GIB),
        "Reads from disk for consumers that lag. It is a budget of its own, so that they slow nobody else."
    ),
    key!(
        memory.answer_bytes,
        Range::Bytes(4 * MIB, 4 * GIB - MIB),
        "Records that answers hold in memory until clients have taken them. Beyond it records are sent \
         straight from their files, where that is possible, or wait."
    ),
    key!(
        memory.answer_frame_bytes,
        Range::Bytes(MIB, 4 * GIB - MIB),
        "Answers, but for the records in them, until clients have taken them. Beyond it answers wait, and \
         clients that take theirs too slowly are disconnected."
    ),
    key!(
        memory.partial_request_bytes,
        Range::Bytes(MIB, 4 * GIB - MIB),
        "Requests of up to 64 KiB that were begun and wait for their rest, but for the first KiB of each \
         connection. Beyond it connections wait their turn."
    ),
    key!(
        memory.decoded_request_bytes,
        Range::Bytes(MIB, 4 * GIB - MIB),
        "What lists in requests take beyond the length of the requests until these are answered: an entry \
         of three bytes may take a hundred. A connection whose request would go beyond it is closed."
    ),
    key!(
        memory.group_bytes,
        Range::Bytes(MIB, 64 * GIB),
        "Consumer groups whose members are known here. New members are refused beyond it."
    ),
    key!(
        memory.index_cache_bytes,
        Range::Bytes(MIB, 64 * GIB),
        "Parts of index objects, which tell where older records lie."
    ),
    key!(
        memory.metadata_proposal_bytes,
        Range::Bytes(MIB, GIB),
        "Changes of the metadata that wait to be committed. Producers are slowed down beyond it."
    ),
    key!(
        log.lanes,
        Range::Count(1, 16),
        "How many pipelines of flushes run side by side, each with its own file. One is best on a local \
         disk unless a single one cannot keep it busy."
    ),
    key!(
        log.linger_ms,
        Range::Millis(0, 10_000),
        "How long a flush waits for more records. 0: it takes what came while the one before was synced, \
         which is best on a local disk."
    ),
    key!(
        log.object_bytes_max,
        Range::Bytes(64 * KIB, 64 * MIB),
        "A flush takes at most so many bytes. Larger ones mean fewer syncs and longer waits."
    ),
    key!(
        log.object_batches_max,
        Range::Count(1, 8192),
        "A flush takes at most so many record batches, so that its command stays small."
    ),
    key!(
        log.flush_timeout_ms,
        Range::Millis(1000, 120_000),
        "A flush that could not be written for so long is given up; its producers are told to retry. It \
         must stay far below gc_grace_ms."
    ),
    key!(
        log.slow_put_ms,
        Range::Millis(10, 60_000),
        "A write that takes so long is tried a second time, to a new file, beside the first."
    ),
    key!(
        log.file_bytes_max,
        Range::Bytes(16 * MIB, 16 * GIB),
        "A file that has reached this size is closed and another begun. Space is given back by whole \
         files. On a small disk files are smaller: at most a sixteenth of what is free."
    ),
    key!(
        log.file_reserve_bytes,
        Range::Bytes(0, 16 * GIB),
        "Space reserved when a file is begun, so that a full disk is noticed before a write fails."
    ),
    key!(log.open_files_max, Range::Count(1, 65_536), "Files kept open for reading."),
    key!(
        log.free_bytes_low,
        Range::Bytes(0, 1024 * GIB),
        "Below this much free space produce is refused with an error that clients retry, while consumers \
         go on and retention can free space. Less on small disks."
    ),
    key!(
        log.gc_grace_ms,
        Range::Millis(1000, 24 * HOUR_MS),
        "How long a file that nothing refers to any more is kept for reads under way."
    ),
    key!(
        log.housekeeping_interval_ms,
        Range::Millis(100, HOUR_MS),
        "How often folding, garbage, and producers and offsets that expire are looked after."
    ),
    key!(
        log.retention_interval_ms,
        Range::Millis(100, 24 * HOUR_MS),
        "How often records that are past their retention are looked for (Kafka calls it \
         log.retention.check.interval.ms). Sooner while the disk is nearly full."
    ),
    key!(
        metadata.state_save_interval_ms,
        Range::Millis(10, 10 * MINUTE_MS),
        "How long changed state may wait before it is saved. What is not saved is replayed from the \
         metadata log after a crash; nothing is lost, but a start takes longer."
    ),
    key!(
        metadata.state_save_bytes,
        Range::Bytes(64 * KIB, GIB),
        "State is saved earlier when so many bytes of changes have come, so that a start replays little."
    ),
    key!(
        metadata.log_segment_bytes,
        Range::Bytes(MIB, GIB),
        "Size of one file of the metadata log; this much is reserved for each."
    ),
    key!(
        metadata.log_kept_bytes,
        Range::Bytes(0, 64 * GIB),
        "At least this much of the metadata log stays, though its state is saved."
    ),
    key!(
        metadata.clock_skew_max_ms,
        Range::Millis(100, HOUR_MS),
        "When the wall clock jumps by more than this, time stands still for everything that expires or \
         deletes, until the clock is back or has gone on evenly from its new value for 10 minutes; \
         /readyz says so."
    ),
];
