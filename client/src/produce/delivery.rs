//! `Delivery`: what becomes of a record.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::Shared;
use tidemill_base::{ErrorKind, Offset, TimestampMs};
use tokio::sync::oneshot;

use crate::error::{Error, Result};
use crate::produce::record::RecordMetadata;
use crate::topic_partition::TopicPartition;

/// Where a batch went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct StoredBatch {
    pub(crate) base_offset: Option<Offset>,
    pub(crate) log_append_time: Option<TimestampMs>,
}

/// The outcome of a batch, for all its records.
pub(crate) type BatchOutcome = Shared<oneshot::Receiver<Result<StoredBatch>>>;

/// What becomes of a record: a future of its metadata. Dropping it changes nothing for the record.
///
/// It resolves to an error of kind
/// - `Ambiguous` if the record may have been stored all the same,
/// - `Retry` if it certainly was not and time ran out,
/// - `Closed` if the producer was dropped or closed before,
/// - anything else that the broker answered: then it certainly was not stored.
#[derive(Clone, Debug)]
#[must_use = "the record may fail to be delivered, which only this tells"]
pub struct Delivery {
    pub(crate) outcome: BatchOutcome,
    pub(crate) partition: TopicPartition,
    pub(crate) delta: u32,
    pub(crate) timestamp: TimestampMs,
}

impl Delivery {
    /// The partition that the record was put in.
    #[must_use]
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }
}

impl Future for Delivery {
    type Output = Result<RecordMetadata>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let stored = match std::task::ready!(self.outcome.poll_unpin(context)) {
            Ok(Ok(stored)) => stored,
            Ok(Err(error)) => return Poll::Ready(Err(error)),
            Err(_) => return Poll::Ready(Err(given_up())),
        };
        Poll::Ready(Ok(RecordMetadata {
            partition: self.partition.clone(),
            offset: stored.base_offset.map(|base| base.plus(self.delta)),
            timestamp: stored.log_append_time.unwrap_or(self.timestamp),
        }))
    }
}

/// What a record is told whose producer is gone.
pub(crate) fn given_up() -> Error {
    let message =
        "the producer was closed before the record was delivered; it may have been stored";
    Error::new(ErrorKind::Closed, message)
}
