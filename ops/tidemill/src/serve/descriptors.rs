//! File descriptors: every connection takes one, and many systems give a process only 1,024 unless it
//! asks.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for files, the listeners and the metadata.
const OTHER_DESCRIPTORS: u64 = 1024;

/// Raises the limit of this process as far as it may go, and warns if that is too little for
/// `connections_max` connections.
pub(super) fn raise_limit(connections_max: u64) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let needed = connections_max.saturating_add(OTHER_DESCRIPTORS);
    if current.is_some_and(|current| current < needed) {
        tracing::warn!(
            descriptors = current,
            connections_max,
            "fewer file descriptors than connections are allowed; raise `ulimit -n`"
        );
    }
}
