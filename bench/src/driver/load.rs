//! What to run: a description, no behaviour.

use std::net::SocketAddr;

use crate::batch::Batch;

/// One run against one broker.
#[derive(Clone, Debug)]
pub struct Load {
    /// The broker.
    pub broker: SocketAddr,
    /// The broker's process, to be watched; `None` watches nothing.
    pub broker_pid: Option<u32>,
    /// The topic, which exists.
    pub topic: String,
    /// Its partitions.
    pub partitions: u32,
    /// What is produced.
    pub batch: Batch,
    /// The producers, if any.
    pub produce: Option<ProduceLoad>,
    /// The consumers that follow the producers, if any.
    pub tail: Option<TailLoad>,
    /// The consumers that read what was there before, if any.
    pub backlog: Option<BacklogLoad>,
    /// How long.
    pub timing: Timing,
}

/// Producers with acks=all, one partition to a batch.
#[derive(Clone, Copy, Debug)]
pub struct ProduceLoad {
    /// Connections; each partition belongs to exactly one.
    pub connections: u32,
    /// Requests in flight per connection.
    pub in_flight_max: usize,
    /// When requests are sent.
    pub pacing: Pacing,
    /// Nothing is sent while the tail's consumers are further behind than this.
    pub lag_bytes_max: Option<u64>,
    /// The run ends when this much is acknowledged.
    pub stop_after_bytes: Option<u64>,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug)]
pub enum Pacing {
    /// At once when the window has room: measures cost and saturation, not latency.
    ClosedLoop,
    /// By a schedule, at this many bytes a second in sum over the connections.
    OpenLoop {
        /// Bytes of batches per second.
        bytes_per_second: u64,
    },
}

/// Consumers that begin where the producers do and never let go.
#[derive(Clone, Debug)]
pub struct TailLoad {
    /// How they fetch.
    pub fetch: FetchLoad,
    /// Where they begin, per partition; the producers' first batch goes there.
    pub from_offsets: Vec<i64>,
}

/// Consumers that read `0..end_offsets` over and over.
#[derive(Clone, Debug)]
pub struct BacklogLoad {
    /// How they fetch.
    pub fetch: FetchLoad,
    /// Where each partition begins anew.
    pub end_offsets: Vec<i64>,
}

/// How consumers fetch.
#[derive(Clone, Copy, Debug)]
pub struct FetchLoad {
    /// Connections; each partition belongs to exactly one, each has a fetch session of its own.
    pub connections: u32,
    /// The most bytes of an answer, and of one partition in it.
    pub bytes_max: i32,
    /// How long a broker without data may wait, in milliseconds.
    pub wait_ms_max: i32,
}

/// How long a run takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Load that is not measured, in nanoseconds.
    pub warm_up_ns: u64,
    /// Load that is measured, in nanoseconds.
    pub measure_ns: u64,
}
