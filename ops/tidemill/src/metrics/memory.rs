//! The memory budgets of serving: what each allows, and what is held of it.

use std::fmt;
use std::sync::Arc;

use tidemill_broker_server::broker::Broker;
use tidemill_broker_server::budget::Budget;
use tidemill_broker_server::node::Node;
use tidemill_storage_store::HotCache;

use crate::metrics::sheet::Sheet;

/// What is read of the budgets.
pub(super) struct MemoryMetrics {
    broker: Arc<Broker>,
    requests: Budget,
    partial_requests: Budget,
    hot_cache: Arc<HotCache>,
}

/// A budget: its name, bytes held, bytes allowed.
type Row = (&'static str, u64, u64);

impl MemoryMetrics {
    /// Those of `node`.
    pub(super) fn new(node: &Node) -> Self {
        Self {
            broker: Arc::clone(node.broker()),
            requests: node.request_memory().clone(),
            partial_requests: node.partial_request_memory().clone(),
            hot_cache: Arc::clone(&node.counters().cache),
        }
    }

    /// Writes them out.
    pub(super) fn write(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let rows = self.rows();
        sheet.gauges(
            "tidemill_memory_bytes",
            "Memory held of each budget",
            "budget",
            rows.map(|(budget, held, _)| (budget, held)),
        )?;
        sheet.gauges(
            "tidemill_memory_budget_bytes",
            "Memory that each budget allows",
            "budget",
            rows.map(|(budget, _, allowed)| (budget, allowed)),
        )
    }

    /// Named as in the section `memory` of the settings; the last one is `metadata.state_save_bytes`,
    /// past which saving begins at once, so that more may be held while a save is under way.
    fn rows(&self) -> [Row; 11] {
        let of_budget = |budget: &Budget| (u64::from(budget.held()), u64::from(budget.total()));
        let (requests, requests_max) = of_budget(&self.requests);
        let (partial, partial_max) = of_budget(&self.partial_requests);
        let (answers, answers_max) = of_budget(self.broker.reads.answers());
        let (frames, frames_max) = of_budget(&self.broker.answer_frames);
        let (decoded, decoded_max) = of_budget(&self.broker.decoded);
        let (config, bytes) = (&self.broker.config, self.broker.reads.bytes());
        let raft = self.broker.metadata.memory();
        let groups = self.broker.groups.approximate_bytes();
        [
            ("request", requests, requests_max),
            ("partial_request", partial, partial_max),
            ("hot_cache", self.hot_cache.held_bytes(), self.hot_cache.budget_bytes()),
            ("catch_up_read", bytes.catch_up_read_bytes(), config.catch_up_read_bytes),
            ("answer", answers, answers_max),
            ("answer_frame", frames, frames_max),
            ("decoded_request", decoded, decoded_max),
            ("group", groups, config.group_memory_bytes),
            ("index_cache", bytes.index_cache_bytes(), config.index_cache_bytes),
            ("metadata_proposal", raft.proposal_bytes, raft.proposal_bytes_max),
            ("metadata_state_save", raft.unsaved_bytes, raft.unsaved_bytes_max),
        ]
    }
}
