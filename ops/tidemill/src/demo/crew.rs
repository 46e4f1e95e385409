//! The shop's crew: members of a consumer group that read the events along.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidemill_client::{AutoOffsetReset, Client, Consumer, ConsumerConfig};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::demo::stage::{PARTITIONS, TOPIC};
use crate::demo::tally::{Seen, Tally};
use crate::failure::Failure;

/// The group's name.
pub(super) const GROUP: &str = "shop.fulfilment";

/// How long one look for events waits.
const POLL_MS: u64 = 100;

/// How long the group may take to share the partitions out.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);

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

/// Waits until the group has `members` and they share all partitions of the topic.
///
/// # Errors
/// It does not come to that in time.
pub(super) async fn settled(client: &Client, members: usize) -> Result<(), Failure> {
    let deadline = Instant::now() + SETTLE_TIMEOUT;
    while !is_settled(client, members).await.unwrap_or(false) {
        if Instant::now() > deadline {
            let message = format!("the {members} members of {GROUP} did not share the partitions");
            return Err(Failure::failed(message));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn is_settled(client: &Client, members: usize) -> tidemill_client::Result<bool> {
    let groups = client.admin()?.describe_groups(&[GROUP]).await?;
    let Some((_, Ok(group))) = groups.into_iter().next() else { return Ok(false) };
    let mut shared: Vec<_> = group.members.iter().flat_map(|member| &member.assignment).collect();
    shared.sort();
    shared.dedup();
    let all = usize::try_from(PARTITIONS).unwrap_or(0);
    Ok(group.state == "Stable" && group.members.len() == members && shared.len() == all)
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
