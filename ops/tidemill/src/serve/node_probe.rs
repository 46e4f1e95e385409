//! What a server tells of itself over HTTP, through its whole life.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tidemill_broker_server::broker::Broker;
use tidemill_broker_server::node::Node;
use tidemill_storage_store::SyncCounters;

use crate::http::{Probe, Readiness};
use crate::metrics::NodeMetrics;

/// A node, from before it serves until after it has stopped.
#[derive(Default)]
pub(super) struct NodeProbe {
    serving: OnceLock<Serving>,
    draining: AtomicBool,
}

struct Serving {
    broker: Arc<Broker>,
    metrics: NodeMetrics,
}

impl NodeProbe {
    /// From now on the node serves; its log counts its `syncs`. Called once.
    pub(super) fn serves(&self, node: &Node, syncs: &Arc<SyncCounters>) {
        let broker = Arc::clone(node.broker());
        // A second call would change nothing.
        let _ = self.serving.set(Serving { broker, metrics: NodeMetrics::new(node, syncs) });
    }

    /// From now on the node takes in nothing more.
    pub(super) fn drains(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }
}

impl Probe for NodeProbe {
    fn metrics(&self) -> Result<String, String> {
        match self.serving.get() {
            Some(serving) => serving.metrics.text().map_err(|error| error.to_string()),
            None => Ok(String::new()),
        }
    }

    fn readiness(&self) -> Readiness {
        let Some(serving) = self.serving.get() else {
            return Readiness::NotReady("starting: metadata is being recovered".to_owned());
        };
        if self.draining.load(Ordering::Relaxed) {
            return Readiness::NotReady("stopping".to_owned());
        }
        if serving.broker.is_fenced() {
            let why = "the broker's registration is void, so produce is refused: start it again, \
                       and let no other have its node.broker_id";
            return Readiness::NotReady(why.to_owned());
        }
        let mut but = Vec::new();
        if serving.broker.metadata.time_stands_still() {
            but.push("the wall clock is not believed, so nothing expires");
        }
        if serving.broker.is_space_low() {
            but.push("the disk is nearly full, so produce is refused");
        }
        Readiness::Ready((!but.is_empty()).then(|| but.join("; ")))
    }
}
