//! What `/metrics` tells, read from the parts' counters when it is asked.
//!
//! Names are kept by a golden file (`golden/metrics.txt`): dashboards depend on them. Units last;
//! times are in seconds, sizes in bytes.
//!
//! Not here: counting, which each part does for itself with plain atomics.

mod log;
mod memory;
mod metadata;
mod requests;
mod sheet;

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::prometheus_text::encode;
use prometheus_client::registry::Registry;
use tidemill_broker_server::node::Node;
use tidemill_storage_store::SyncCounters;

use log::LogMetrics;
use memory::MemoryMetrics;
use metadata::MetadataMetrics;
use requests::RequestsMetrics;
use sheet::Sheet;

/// Everything that is measured in a node.
pub(crate) struct NodeMetrics {
    registry: Registry,
}

impl NodeMetrics {
    /// The metrics of `node` and of the syncs of its log, for as long as it lives and after.
    pub(crate) fn new(node: &Node, syncs: &Arc<SyncCounters>) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Parts {
            requests: RequestsMetrics::new(node),
            memory: MemoryMetrics::new(node),
            log: LogMetrics::new(node, Arc::clone(syncs)),
            metadata: MetadataMetrics::new(node),
        }));
        Self { registry }
    }

    /// Their text, in the format of Prometheus.
    ///
    /// # Errors
    /// It cannot be written out.
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::with_capacity(16 << 10);
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

struct Parts {
    requests: RequestsMetrics,
    memory: MemoryMetrics,
    log: LogMetrics,
    metadata: MetadataMetrics,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl Collector for Parts {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut sheet = Sheet::new(encoder);
        self.requests.write(&mut sheet)?;
        self.memory.write(&mut sheet)?;
        self.log.write(&mut sheet)?;
        self.metadata.write(&mut sheet)
    }
}
