//! The table of layers. A row may import only rows above it.
//!
//! proto ← storage, metadata, client ← broker ← ops ← sim, bench, tests. Siblings do not import each
//! other, apart from the pairs that belong together. Kafka's words stop at `broker` and `client`;
//! `client` knows no server crate; nobody imports `ops`. A new edge is a decision of its own.

/// What a crate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Pure: no runtime, clock, randomness, file or socket.
    Decides,
    /// Thin and asynchronous: reads facts, calls the pure part, carries out what it returned.
    Does,
}

use Part::{Decides, Does};

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Layer {
    /// The name of the package.
    pub(crate) name: &'static str,
    /// Its folder below the root.
    pub(crate) folder: &'static str,
    /// Whether it decides or does.
    pub(crate) part: Part,
    /// The crates of the workspace that it may depend on, in any kind of dependency.
    pub(crate) may_import: &'static [&'static str],
}

/// Every crate of the workspace.
#[rustfmt::skip]
pub(crate) const CRATES: &[Layer] = &[
    // proto
    Layer { name: "tidemill-base", folder: "proto/base", part: Decides, may_import: &[] },
    Layer { name: "tidemill-records", folder: "proto/records", part: Decides, may_import: &["tidemill-base"] },
    Layer { name: "tidemill-kafka", folder: "proto/kafka", part: Decides, may_import: &["tidemill-base"] },
    // storage
    Layer { name: "tidemill-appendfile", folder: "storage/appendfile", part: Does, may_import: &["tidemill-base"] },
    Layer { name: "tidemill-storage-format", folder: "storage/format", part: Decides, may_import: &["tidemill-base", "tidemill-records"] },
    Layer { name: "tidemill-storage-lane", folder: "storage/lane", part: Decides, may_import: &["tidemill-base", "tidemill-records", "tidemill-storage-format"] },
    Layer { name: "tidemill-storage-store", folder: "storage/store", part: Does, may_import: &[
        "tidemill-base", "tidemill-records", "tidemill-appendfile", "tidemill-storage-format", "tidemill-storage-lane",
    ] },
    // metadata
    Layer { name: "tidemill-metadata-state", folder: "metadata/state", part: Decides, may_import: &["tidemill-base", "tidemill-records"] },
    Layer { name: "tidemill-metadata-raft", folder: "metadata/raft", part: Does, may_import: &[
        "tidemill-base", "tidemill-appendfile", "tidemill-metadata-state",
    ] },
    // client
    Layer { name: "tidemill-client", folder: "client", part: Does, may_import: &["tidemill-base", "tidemill-records", "tidemill-kafka"] },
    // broker
    Layer { name: "tidemill-broker-logic", folder: "broker/logic", part: Decides, may_import: &[
        "tidemill-base", "tidemill-records", "tidemill-kafka", "tidemill-storage-format", "tidemill-metadata-state",
    ] },
    Layer { name: "tidemill-broker-server", folder: "broker/server", part: Does, may_import: &[
        "tidemill-base", "tidemill-records", "tidemill-kafka",
        "tidemill-appendfile", "tidemill-storage-format", "tidemill-storage-lane", "tidemill-storage-store",
        "tidemill-metadata-state", "tidemill-metadata-raft",
        "tidemill-broker-logic",
    ] },
    // ops: no Kafka requests of its own, it goes through the client
    Layer { name: "tidemill", folder: "ops/tidemill", part: Does, may_import: &[
        "tidemill-base", "tidemill-records",
        "tidemill-appendfile", "tidemill-storage-store",
        "tidemill-metadata-state", "tidemill-metadata-raft",
        "tidemill-client", "tidemill-broker-server",
    ] },
    // sim, bench, tests, xtask
    Layer { name: "tidemill-sim", folder: "sim", part: Does, may_import: &[
        "tidemill-base", "tidemill-records", "tidemill-kafka",
        "tidemill-appendfile", "tidemill-storage-format", "tidemill-storage-lane", "tidemill-storage-store",
        "tidemill-metadata-state", "tidemill-metadata-raft",
        "tidemill-client", "tidemill-broker-logic", "tidemill-broker-server",
    ] },
    // The state machine is measured alone, all else through the protocol.
    Layer { name: "tidemill-bench", folder: "bench", part: Does, may_import: &[
        "tidemill-base", "tidemill-records", "tidemill-kafka", "tidemill-metadata-state", "tidemill-client",
    ] },
    // Everything that decodes bytes from outside or from disk is fuzzed.
    Layer { name: "tidemill-tests", folder: "tests", part: Does, may_import: &[
        "tidemill-base", "tidemill-records", "tidemill-kafka",
        "tidemill-appendfile", "tidemill-storage-format", "tidemill-metadata-state", "tidemill-metadata-raft",
        "tidemill-client",
    ] },
    Layer { name: "xtask", folder: "xtask", part: Does, may_import: &[] },
];

const RUNTIME: &str = "a pure part starts nothing and waits for nothing";
const OUTSIDE: &str = "a pure part touches no file, socket or store";
const CHANCE: &str = "chance comes in as a seed";

/// Crates from outside that no pure part may use, and why.
pub(crate) const BANNED_IN_PURE: &[(&str, &str)] = &[
    ("tokio", RUNTIME),
    ("tokio-util", RUNTIME),
    ("futures", RUNTIME),
    ("futures-util", RUNTIME),
    ("futures-executor", RUNTIME),
    ("async-std", RUNTIME),
    ("smol", RUNTIME),
    ("rayon", RUNTIME),
    ("crossbeam-channel", RUNTIME),
    ("axum", OUTSIDE),
    ("hyper", OUTSIDE),
    ("libc", OUTSIDE),
    ("object_store", OUTSIDE),
    ("raft", OUTSIDE),
    ("redb", OUTSIDE),
    ("rustix", OUTSIDE),
    ("socket2", OUTSIDE),
    ("tempfile", OUTSIDE),
    ("chrono", "time comes in as an argument"),
    ("time", "time comes in as an argument"),
    ("fastrand", CHANCE),
    ("getrandom", CHANCE),
    ("rand", CHANCE),
    ("rand_core", CHANCE),
];

/// Features (crate, feature, why) that no pure part may turn on.
pub(crate) const BANNED_FEATURES_IN_PURE: &[(&str, &str, &str)] = &[
    ("uuid", "v1", "time comes in as an argument"),
    ("uuid", "v4", CHANCE),
    ("uuid", "v6", "time comes in as an argument"),
    ("uuid", "v7", "time comes in as an argument"),
    ("uuid", "rng", CHANCE),
];
