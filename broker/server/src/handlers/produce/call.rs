//! One produce request on its way: judged here if that is quick, else on a thread for it.
//!
//! What takes long is known only by trying: a hundred bytes can become megabytes. So a request is
//! judged here within [`UNPACKED_HERE_BYTES_MAX`], and from the start again elsewhere if that is not
//! enough. Meanwhile its connection takes nothing else in, so that requests are submitted in order.

use std::sync::Arc;

use tidemill_broker_logic::admission::Unpacking;
use tidemill_kafka::ApiKey;
use tidemill_kafka::messages::produce::ProduceRequest;
use tidemill_storage_store::Kept;
use tokio::time::Instant;

use super::{Checked, check};
use crate::broker::Broker;
use crate::budget::SMALL_BYTES_MAX;
use crate::kafka_service::{Context, encoded};
use crate::service::Dispatched;

/// What the batches of a request may become, in sum, on a thread that serves others: about a
/// millisecond.
pub(super) const UNPACKED_HERE_BYTES_MAX: u64 = 512 << 10;

/// What one batch takes beside its bytes until it is decided: as it was decoded and admitted, in its
/// object and its command, and its answers.
const BATCH_BYTES: u32 = 512;

/// What batches may take beside their bytes until they are decided: 65,536 of them, eight objects.
pub const BATCHES_UNDER_WAY_BYTES: u32 = 65_536 * BATCH_BYTES;

/// What the batches of a request take beside their bytes, those included that will be refused.
fn bytes_under_way(request: &ProduceRequest) -> u32 {
    let batches: usize = request.topic_data.iter().map(|topic| topic.partition_data.len()).sum();
    u32::try_from(batches).unwrap_or(u32::MAX).saturating_mul(BATCH_BYTES)
}

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
    /// Judges the request and submits it, or says when that will be done: not before there is memory
    /// for as many batches.
    pub(crate) fn dispatch(self, request: ProduceRequest) -> Dispatched {
        let bytes = bytes_under_way(&request);
        let budget = &self.broker.batches_under_way;
        let held = match bytes {
            0..=SMALL_BYTES_MAX => budget.try_hold(bytes),
            _ => budget.try_hold_large(bytes),
        };
        match held {
            Some(held) => self.judge(request, Arc::new(held)),
            None => Dispatched::Pending(Box::pin(async move {
                let held = self.broker.batches_under_way.hold_by_size(bytes).await;
                match self.judge(request, Arc::new(held)) {
                    Dispatched::Pending(dispatched) => dispatched.await,
                    dispatched => dispatched,
                }
            })),
        }
    }

    fn judge(self, request: ProduceRequest, kept: Kept) -> Dispatched {
        let checked = self.broker.with_decompressor(|decompressor| {
            let mut here = Unpacking::at_most(decompressor, UNPACKED_HERE_BYTES_MAX);
            check(&self.broker, &self.context, &request, &mut here)
        });
        match checked {
            Some(checked) => self.submit(checked, &kept),
            None => Dispatched::Pending(Box::pin(self.check_aside(request, kept))),
        }
    }

    async fn check_aside(self, request: ProduceRequest, kept: Kept) -> Dispatched {
        let (broker, context) = (Arc::clone(&self.broker), self.context.clone());
        let checked = self.broker.record_checks.run(move |decompressor| {
            check(&broker, &context, &request, &mut Unpacking::unlimited(decompressor))
        });
        match checked.await.flatten() {
            Some(checked) => self.submit(checked, &kept),
            None => Dispatched::Close("its records could not be judged".to_owned()),
        }
    }

    fn submit(self, checked: Checked, kept: &Kept) -> Dispatched {
        let Self { broker, context, lane, frame_bytes, correlation_id, since } = self;
        let admitted = checked.submit(&broker, lane, frame_bytes, kept);
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
