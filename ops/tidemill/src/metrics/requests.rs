//! Connections, requests, and the memory that requests hold.

use std::fmt;
use std::sync::Arc;

use tidemill_broker_server::broker::Broker;
use tidemill_broker_server::budget::Budget;
use tidemill_broker_server::listener::ListenerCounters;
use tidemill_broker_server::node::Node;
use tidemill_broker_server::request_metrics::LATENCY_BUCKETS_US;
use tidemill_storage_store::HotCache;

use crate::metrics::sheet::{Sheet, Times, load};

/// What is read of the listener and the handlers.
pub(super) struct RequestsMetrics {
    broker: Arc<Broker>,
    listener: Arc<ListenerCounters>,
    memory: Budget,
    cache: Arc<HotCache>,
}

impl RequestsMetrics {
    /// Those of `node`.
    pub(super) fn new(node: &Node) -> Self {
        Self {
            broker: Arc::clone(node.broker()),
            listener: Arc::clone(&node.counters().listener),
            memory: node.request_memory().clone(),
            cache: Arc::clone(&node.counters().cache),
        }
    }

    /// Writes them out.
    pub(super) fn write(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let listener = &self.listener;
        sheet.counter(
            "tidemill_connections_accepted",
            "Connections accepted",
            &listener.accepted,
        )?;
        sheet.gauge("tidemill_connections_open", "Connections open now", load(&listener.open))?;
        sheet.counter(
            "tidemill_connections_refused",
            "Connections turned away because too many were open",
            &listener.refused,
        )?;
        sheet.counter(
            "tidemill_protocol_errors",
            "Connections closed because of what was received on them",
            &listener.protocol_errors,
        )?;
        sheet.counter(
            "tidemill_received_bytes",
            "Bytes received from clients",
            &listener.bytes_in,
        )?;
        sheet.counter("tidemill_sent_bytes", "Bytes sent to clients", &listener.bytes_out)?;
        self.write_requests(sheet)?;
        sheet.gauge(
            "tidemill_fetches_waiting",
            "Fetches that wait for records",
            self.broker.view.fetches_waiting() as u64,
        )?;
        sheet.gauges(
            "tidemill_memory_bytes",
            "Memory held of each budget",
            "budget",
            [("request", u64::from(self.memory.held())), ("hot_cache", self.cache.held_bytes())],
        )?;
        sheet.gauges(
            "tidemill_memory_budget_bytes",
            "Memory that each budget allows",
            "budget",
            [("request", u64::from(self.memory.total())), ("hot_cache", self.cache.budget_bytes())],
        )
    }

    fn write_requests(&self, sheet: &mut Sheet<'_>) -> fmt::Result {
        let requests = &self.broker.request_metrics;
        sheet.times_by(
            "tidemill_request_seconds",
            "Requests by API, and the time from request to answer; a fetch counts its waiting",
            "api",
            requests.apis().map(|(api, counters)| {
                let times = Times {
                    bounds_us: &LATENCY_BUCKETS_US,
                    buckets: &counters.latency_us_buckets,
                    sum_us: load(&counters.latency_us_sum),
                };
                (api.name(), times)
            }),
        )?;
        sheet.counter(
            "tidemill_requests_unsupported",
            "Requests whose API or version is not served",
            &requests.unsupported,
        )?;
        sheet.counter(
            "tidemill_requests_malformed",
            "Requests that could not be understood",
            &requests.malformed,
        )
    }
}
