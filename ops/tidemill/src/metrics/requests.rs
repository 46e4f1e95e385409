//! Connections and requests.

use std::fmt;
use std::sync::Arc;

use tidemill_broker_server::broker::Broker;
use tidemill_broker_server::listener::ListenerCounters;
use tidemill_broker_server::node::Node;
use tidemill_broker_server::request_metrics::LATENCY_BUCKETS_US;

use crate::metrics::sheet::{Sheet, Times, load};

/// What is read of the listener and the handlers.
pub(super) struct RequestsMetrics {
    broker: Arc<Broker>,
    listener: Arc<ListenerCounters>,
}

impl RequestsMetrics {
    /// Those of `node`.
    pub(super) fn new(node: &Node) -> Self {
        Self { broker: Arc::clone(node.broker()), listener: Arc::clone(&node.counters().listener) }
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
        sheet.counter(
            "tidemill_fetched_records",
            "Records in answers to fetches; where a part of a flush is sent from its file, about",
            &self.broker.request_metrics.records_fetched,
        )?;
        sheet.counter_value(
            "tidemill_reads_failed",
            "Reads that failed because records are missing or damaged; the log says which",
            self.broker.reads.failed().count(),
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
