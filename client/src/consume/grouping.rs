//! The part of [`Consumer`] that has to do with its group: subscribing, following rebalances,
//! committing, closing.
//!
//! A rebalance is carried out while the application polls. A poll that runs out of time or is
//! cancelled leaves it half done, and the next one goes on: the listener is told once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tidemill_base::ErrorKind;

use crate::consume::assignment::Place;
use crate::consume::consumer::Consumer;
use crate::error::{Error, Result};
use crate::group::listener::RebalanceListener;
use crate::group::member::{GroupEvent, MemberHandle};
use crate::group::membership::MembershipConfig;
use crate::group::offsets::{CommittedOffset, Committer, Offsets};
use crate::topic_partition::TopicPartition;

/// What the group has told, and how far it is carried out.
#[derive(Debug)]
pub(super) struct Rebalance {
    event: GroupEvent,
    is_listener_told: bool,
}

impl Consumer {
    /// Reads these topics as a member of the group: partitions come with [`Consumer::poll`]. Called
    /// again, it changes the topics.
    ///
    /// # Errors
    /// `Invalid` if the consumer has no `group_id` or there is no topic.
    pub fn subscribe(&mut self, topics: &[&str]) -> Result<()> {
        let group = self.group()?.to_owned();
        if topics.is_empty() {
            let message = "subscribe to at least one topic, or unsubscribe";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let mut topics: Vec<Arc<str>> = topics.iter().map(|topic| Arc::from(*topic)).collect();
        topics.sort_unstable();
        topics.dedup();
        self.subscribed = topics.clone();
        if let Some(member) = &self.member {
            member.subscribe(topics);
            return Ok(());
        }
        self.assignment.set([], Place::Committed);
        let config = MembershipConfig {
            group,
            instance_id: self.config.group_instance_id.clone(),
            session_timeout_ms: self.config.session_timeout_ms,
            rebalance_timeout_ms: self.config.poll_interval_ms_max,
            heartbeat_interval_ms: self.config.heartbeat_interval_ms,
            assignors: self.config.assignors.clone(),
            backoff: self.backoff(),
        };
        let cluster = self.cluster.clone();
        self.member = Some(MemberHandle::start(cluster, &self.environment, config, topics));
        Ok(())
    }

    /// Tells `listener` of partitions that come and go.
    pub fn on_rebalance(&mut self, listener: impl RebalanceListener + 'static) {
        self.listener = Some(Box::new(listener));
    }

    /// Reads nothing any more, and leaves the group in the background. Nothing is committed.
    pub fn unsubscribe(&mut self) {
        self.member = None;
        self.rebalance = None;
        self.subscribed.clear();
        self.assignment.set([], Place::Committed);
    }

    /// Commits the positions: the offsets of the next records that poll would answer.
    ///
    /// # Errors
    /// Those of [`Self::commit_offsets`].
    pub async fn commit(&mut self) -> Result<()> {
        let positions = self.assignment.positions();
        self.commit_offsets(&positions).await
    }

    /// Commits these offsets.
    ///
    /// # Errors
    /// - `Conflict`, `NotFound`, `Fenced`: the group has gone on without this member; the
    ///   partitions will be lost and given to it anew.
    /// - `Retry`, `Ambiguous`: the coordinator did not answer in time; committing again is harmless.
    /// - `Invalid`: the consumer has no group.
    pub async fn commit_offsets(&mut self, offsets: &Offsets) -> Result<()> {
        self.group()?;
        // A commit on its way must not come after this one.
        let _ = self.finish_commit().await;
        self.begin_commit(offsets.clone());
        self.finish_commit().await
    }

    /// The offsets that the group has committed. A partition without one is not in the answer.
    ///
    /// # Errors
    /// `Invalid` if the consumer has no group; `Retry` if the coordinator does not answer in time.
    pub async fn committed(
        &self,
        partitions: &[TopicPartition],
    ) -> Result<BTreeMap<TopicPartition, CommittedOffset>> {
        self.cluster.committed_offsets(self.group()?, Some(partitions)).await
    }

    /// Commits if that is automatic, leaves the group, and ends. (A consumer that is dropped leaves
    /// the group in the background and commits nothing.)
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub async fn close(mut self) -> Result<()> {
        let committed = if self.commits_by_itself() { self.commit().await } else { Ok(()) };
        if let Some(mut member) = self.member.take() {
            member.leave();
            let left = async { while member.events.recv().await.is_some() {} };
            let timeout = Duration::from_millis(self.cluster.config().request_timeout_ms);
            // The group learns of it from the session timeout, if not now.
            let _ = tokio::time::timeout(timeout, left).await;
        }
        committed
    }

    fn group(&self) -> Result<&str> {
        self.config.group_id.as_deref().ok_or_else(|| {
            Error::new(ErrorKind::Invalid, "the consumer has no group; set group_id")
        })
    }

    fn commits_by_itself(&self) -> bool {
        self.config.group_id.is_some()
            && self.config.auto_commit_interval_ms.is_some()
            && !self.assignment.positions().is_empty()
    }

    /// Begins an automatic commit of what was polled before, if it is time.
    pub(super) fn auto_commit_if_due(&mut self) {
        let Some(interval_ms) = self.config.auto_commit_interval_ms else { return };
        let now_ms = self.now_ms();
        let is_due = now_ms >= self.committed_at_ms + interval_ms;
        if is_due && self.committing.is_none() && self.commits_by_itself() {
            let positions = self.assignment.positions();
            self.begin_commit(positions);
        }
    }

    /// Lets a commit that is on its way go on.
    pub(super) fn poke_commit(&mut self) {
        let result = self.committing.as_mut().and_then(|committing| committing.now_or_never());
        if let Some(result) = result {
            self.committing = None;
            if let Err(error) = result {
                tracing::warn!(%error, "automatic commit failed");
            }
        }
    }

    fn begin_commit(&mut self, offsets: Offsets) {
        let Some(group) = self.config.group_id.clone() else { return };
        self.committed_at_ms = self.now_ms();
        if offsets.is_empty() {
            return;
        }
        let committer =
            self.member.as_ref().map_or_else(Committer::outside, MemberHandle::committer);
        let cluster = self.cluster.clone();
        self.committing = Some(Box::pin(async move {
            let outcomes = cluster.commit_offsets(&group, &committer, &offsets).await?;
            outcomes.into_values().collect()
        }));
    }

    async fn finish_commit(&mut self) -> Result<()> {
        let Some(committing) = &mut self.committing else { return Ok(()) };
        let result = committing.await;
        self.committing = None;
        result
    }

    /// Takes over what the group tells.
    pub(super) fn told(&mut self, event: Option<GroupEvent>) {
        let ended =
            || GroupEvent::Failed(Error::new(ErrorKind::Closed, "the membership has ended"));
        let event = event.unwrap_or_else(ended);
        self.rebalance = Some(Rebalance { event, is_listener_told: false });
    }

    /// Carries out all that the group has told.
    pub(super) async fn follow_group(&mut self) -> Result<()> {
        loop {
            if self.rebalance.is_none() {
                let event = self.member.as_mut().and_then(|member| member.events.try_recv().ok());
                match event {
                    Some(event) => self.told(Some(event)),
                    None => return Ok(()),
                }
            }
            match self.rebalance.as_ref().map(|rebalance| &rebalance.event) {
                Some(GroupEvent::GiveUp { lost, .. }) => {
                    let lost = *lost;
                    self.give_up(lost).await;
                }
                Some(GroupEvent::Take(partitions)) => {
                    let partitions = partitions.clone();
                    tracing::info!(?partitions, "partitions assigned");
                    self.assignment.set(partitions.iter().cloned(), Place::Committed);
                    if let Some(listener) = &mut self.listener {
                        listener.assigned(&partitions);
                    }
                }
                Some(GroupEvent::Failed(error)) => {
                    let error = error.clone();
                    self.give_up(true).await;
                    self.unsubscribe();
                    return Err(error);
                }
                None => {}
            }
            let rebalance = self.rebalance.take();
            if let Some(GroupEvent::GiveUp { done: Some(done), .. }) =
                rebalance.map(|rebalance| rebalance.event)
            {
                // The member's task may have ended.
                let _ = done.send(());
            }
        }
    }

    async fn give_up(&mut self, lost: bool) {
        let is_told = self.rebalance.as_ref().is_some_and(|rebalance| rebalance.is_listener_told);
        if !is_told {
            if let Err(error) = self.finish_commit().await {
                tracing::warn!(%error, "commit before a rebalance failed");
            }
            let offsets = self.tell_listener(lost);
            if !lost {
                self.begin_commit(offsets);
            }
            if let Some(rebalance) = &mut self.rebalance {
                rebalance.is_listener_told = true;
            }
        }
        if let Err(error) = self.finish_commit().await {
            tracing::warn!(%error, "commit of partitions that are given up failed");
        }
        self.assignment.set([], Place::Committed);
    }

    /// What is to be committed for the partitions that go.
    fn tell_listener(&mut self, lost: bool) -> Offsets {
        let partitions = self.assignment();
        let positions = self.assignment.positions();
        tracing::info!(?partitions, lost, "partitions given up");
        let own = match &mut self.listener {
            _ if partitions.is_empty() => Offsets::new(),
            Some(listener) if lost => {
                listener.lost(&partitions);
                Offsets::new()
            }
            Some(listener) => listener.revoked(&partitions, &positions),
            None => Offsets::new(),
        };
        let mut offsets = if self.commits_by_itself() { positions } else { Offsets::new() };
        offsets.extend(own);
        offsets
    }
}
