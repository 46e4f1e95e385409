//! What the handlers of a broker share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tidemill_base::ports::SharedClock;
use tidemill_base::{BrokerEpoch, BrokerId};
use tidemill_broker_logic::fetch::FetchSessions;
use tidemill_metadata_raft::MetadataHandle;
use tidemill_records::Decompressor;
use tidemill_storage_store::LogWriter;
use uuid::Uuid;

use crate::authorization::{Authorizer, Operation, Principal, Resource};
use crate::budget::Budget;
use crate::groups::Groups;
use crate::holdings::Turns;
use crate::log_reads::LogReads;
use crate::node::NodeConfig;
use crate::producer_ids::ProducerIds;
use crate::random_ids::RandomIds;
use crate::record_checks::RecordChecks;
use crate::request_metrics::RequestMetrics;
use crate::view::View;

/// Decompressors kept for reuse; more in use at once are made and dropped.
const DECOMPRESSORS_KEPT_MAX: usize = 8;

pub use crate::handlers::produce::BATCHES_UNDER_WAY_BYTES;

/// A broker: what the handlers share. Built by [`Node`](crate::node::Node).
pub struct Broker {
    /// What it was configured with.
    pub config: NodeConfig,
    /// Its id.
    pub id: BrokerId,
    /// The registration it serves under.
    pub epoch: BrokerEpoch,
    /// The cluster it belongs to.
    pub cluster_id: Uuid,
    /// Wall time.
    pub clock: SharedClock,
    /// Where commands go.
    pub metadata: MetadataHandle,
    /// What it knows of the metadata.
    pub view: Arc<View>,
    /// Its lanes; a connection uses one.
    pub lanes: Vec<LogWriter>,
    /// Where records come from.
    pub reads: LogReads,
    /// The groups it coordinates.
    pub groups: Arc<Groups>,
    /// Its incremental fetch sessions.
    pub fetch_sessions: Mutex<FetchSessions>,
    /// Its block of producer ids.
    pub producer_ids: ProducerIds,
    /// Ids that never repeat.
    pub random_ids: RandomIds,
    /// What is counted of requests.
    pub request_metrics: RequestMetrics,
    /// Who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// Turns at building long answers.
    pub turns: Turns,
    /// What answers take besides records, until they are sent.
    pub answer_frames: Budget,
    /// What decoded requests take beyond the length of their frames, until they are answered.
    pub decoded: Budget,
    /// What batches take beside their bytes until they are decided.
    pub batches_under_way: Budget,
    pub(crate) decompressors: Mutex<Vec<Decompressor>>,
    pub(crate) record_checks: RecordChecks,
    pub(crate) space_low: AtomicBool,
}

impl Broker {
    /// Whether a principal may do something.
    pub fn is_allowed(
        &self,
        principal: &Principal,
        operation: Operation,
        resource: Resource<'_>,
    ) -> bool {
        self.authorizer.authorize(principal, operation, resource)
    }

    /// Whether a lane has ended because the broker's registration is void: what its clients produce is
    /// refused until the process is started again.
    pub fn is_fenced(&self) -> bool {
        self.lanes.iter().any(LogWriter::is_closed)
    }

    /// Whether the disk is so full that nothing is admitted until space is freed.
    pub fn is_space_low(&self) -> bool {
        self.space_low.load(Ordering::Relaxed)
    }

    /// Lends a decompressor.
    pub(crate) fn with_decompressor<T>(&self, work: impl FnOnce(&mut Decompressor) -> T) -> T {
        let kept = self.decompressors.lock().pop();
        let mut decompressor = kept.unwrap_or_default();
        let result = work(&mut decompressor);
        let mut kept = self.decompressors.lock();
        if kept.len() < DECOMPRESSORS_KEPT_MAX {
            kept.push(decompressor);
        }
        result
    }
}
