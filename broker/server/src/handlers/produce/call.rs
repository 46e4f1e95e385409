//! One produce request on its way: judged here if that is quick, else on a thread for it.
//!
//! What takes long is known only by trying: a hundred bytes can become megabytes. So a request is
//! judged here within [`UNPACKED_HERE_BYTES_MAX`], and from the start again elsewhere if that is not
//! enough. Meanwhile its connection takes nothing else in, so that requests are submitted in order.

use std::sync::Arc;

use tidemill_broker_logic::admission::Unpacking;
use tidemill_kafka::ApiKey;
use tidemill_kafka::messages::produce::ProduceRequest;
use tokio::time::Instant;

use super::{Checked, check};
use crate::broker::Broker;
use crate::kafka_service::{Context, encoded};
use crate::service::Dispatched;

/// What the batches of a request may become, in sum, on a thread that serves others: about a
/// millisecond.
pub(super) const UNPACKED_HERE_BYTES_MAX: u64 = 512 << 10;

/// What is known of a produce request beside the request.
pub(crate) struct Call {
    pub(crate) broker: Arc<Broker>,
    pub(crate) context: Context,
    /// The lane it goes to.
    pub(crate) lane: usize,
    /// The length of the frame that its records are slices of.
    pub(crate) frame_bytes: usize,
    pub(crate) correlation_id: i32,
    pub(crate) since: Instant,
}

impl Call {
    /// Judges the request and submits it, or says when that will be done.
    pub(crate) fn dispatch(self, request: ProduceRequest) -> Dispatched {
        let checked = self.broker.with_decompressor(|decompressor| {
            let mut here = Unpacking::at_most(decompressor, UNPACKED_HERE_BYTES_MAX);
            check(&self.broker, &self.context, &request, &mut here)
        });
        match checked {
            Some(checked) => self.submit(checked),
            None => Dispatched::Pending(Box::pin(self.check_aside(request))),
        }
    }

    async fn check_aside(self, request: ProduceRequest) -> Dispatched {
        let (broker, context) = (Arc::clone(&self.broker), self.context.clone());
        let checked = self.broker.record_checks.run(move |decompressor| {
            check(&broker, &context, &request, &mut Unpacking::unlimited(decompressor))
        });
        match checked.await.flatten() {
            Some(checked) => self.submit(checked),
            None => Dispatched::Close("its records could not be judged".to_owned()),
        }
    }

    fn submit(self, checked: Checked) -> Dispatched {
        let Self { broker, context, lane, frame_bytes, correlation_id, since } = self;
        let admitted = checked.submit(&broker, lane, frame_bytes);
        if admitted.wants_no_answer() {
            return Dispatched::Silent(Box::pin(async move {
                admitted.answer(&broker).await;
                broker.request_metrics.answered(ApiKey::Produce, since);
            }));
        }
        Dispatched::Later(Box::pin(async move {
            let response = admitted.answer(&broker).await;
            broker.request_metrics.answered(ApiKey::Produce, since);
            encoded(correlation_id, &response, context.version)
        }))
    }
}
