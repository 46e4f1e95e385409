//! The targets. A new one is a new row.

use tidemill_appendfile::fuzz::fuzz_frames;
use tidemill_kafka::fuzz::fuzz_frame;
use tidemill_metadata_raft::fuzz::fuzz_raft_record;
use tidemill_metadata_state::fuzz::{fuzz_command, fuzz_snapshot};
use tidemill_records::fuzz::fuzz_batch;
use tidemill_storage_format::fuzz::{fuzz_index_object, fuzz_log_object};

/// One target.
#[derive(Debug)]
pub(super) struct Target {
    /// The name on the command line.
    pub(super) name: &'static str,
    /// The folder of its corpus, from the root.
    pub(super) corpus: &'static str,
    /// The function. It panics if it found something.
    pub(super) run: fn(&[u8]),
}

/// Every target.
#[rustfmt::skip]
pub(super) const TARGETS: &[Target] = &[
    Target { name: "frame", corpus: "proto/kafka/corpus", run: fuzz_frame },
    Target { name: "batch", corpus: "proto/records/fixtures/corpus", run: fuzz_batch },
    Target { name: "log-object", corpus: "storage/format/fixtures/corpus/log-object", run: fuzz_log_object },
    Target { name: "index-object", corpus: "storage/format/fixtures/corpus/index-object", run: fuzz_index_object },
    Target { name: "append-file", corpus: "storage/appendfile/fixtures/corpus/append-file", run: fuzz_frames },
    Target { name: "raft-record", corpus: "tests/corpus/raft-record", run: fuzz_raft_record },
    Target { name: "command", corpus: "metadata/state/corpus/command", run: fuzz_command },
    Target { name: "snapshot", corpus: "metadata/state/corpus/snapshot", run: fuzz_snapshot },
];
