//! The shop's crew: members of a consumer group that read the events along.

use std::sync::{Arc, Mutex, PoisonError};

use tidemill_client::{AutoOffsetReset, Client, Consumer, ConsumerConfig};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::demo::stage::TOPIC;
use crate::demo::tally::{Seen, Tally};

/// The group's name.
pub(super) const GROUP: &str = "shop.fulfilment";

/// How long one look for events waits.
const POLL_MS: u64 = 100;

/// What all members have seen together.
pub(super) type SharedTally = Arc<Mutex<Tally>>;

/// A member of the group.
pub(super) struct Member {
    leave: watch::Sender<bool>,
    reading: JoinHandle<tidemill_client::Result<()>>,
}

impl Member {
    /// Joins the group.
    ///
    /// # Errors
    /// The client refuses.
    pub(super) fn join(client: &Client, tally: &SharedTally) -> tidemill_client::Result<Self> {
        let mut consumer = client.consumer(ConsumerConfig {
            group_id: Some(GROUP.to_owned()),
            auto_offset_reset: AutoOffsetReset::Earliest,
            auto_commit_interval_ms: None,
            poll_records_max: 2_000,
            session_timeout_ms: 10_000,
            heartbeat_interval_ms: 300,
            fetch_wait_ms_max: POLL_MS,
            ..ConsumerConfig::default()
        })?;
        consumer.subscribe(&[TOPIC])?;
        let (leave, leaving) = watch::channel(false);
        // On a thread of its own, as a process of its own would be.
        let (tally, runtime) = (Arc::clone(tally), Handle::current());
        let reading =
            tokio::task::spawn_blocking(move || runtime.block_on(read(consumer, tally, leaving)));
        Ok(Self { leave, reading })
    }

    /// Commits, leaves the group, and returns when that is done.
    ///
    /// # Errors
    /// What the member met while it read or left.
    pub(super) async fn leave(self) -> tidemill_client::Result<()> {
        self.leave.send_replace(true);
        self.reading.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }
}

async fn read(
    mut consumer: Consumer,
    tally: SharedTally,
    leaving: watch::Receiver<bool>,
) -> tidemill_client::Result<()> {
    while !*leaving.borrow() {
        let records = consumer.poll(POLL_MS).await?;
        if records.is_empty() {
            continue;
        }
        {
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            for record in &records {
                match Seen::of(record.key.as_deref(), record.value.as_deref()) {
                    Ok(seen) => tally.take(&seen),
                    Err(fault) => tally.fault(fault),
                }
            }
        }
        // Whoever reads on begins behind what has been counted, or a bit before it.
        if let Err(error) = consumer.commit().await {
            tracing::debug!(%error, "a commit failed; some events will be seen again");
        }
    }
    consumer.close().await
}
