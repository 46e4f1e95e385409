//! The loop of a member: takes what is queued, makes it durable with one sync, applies it, answers.
//!
//! Order within one round, which everything relies on:
//! 1. queued proposals become entries, in the order in which they were queued;
//! 2. the log makes them durable (trying again, with new segments, for as long as the disk refuses);
//! 3. committed entries are applied; their events are delivered *before* their outcomes are sent;
//! 4. reads that were confirmed are answered.
//!
//! Messages to other members are dropped here: a quorum of one sends none. The network between
//! members will take them from `round` and step theirs into `raft`.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use raft::eraftpb::{ConfChange, ConfChangeV2, Entry, EntryType, HardState, Message, MessageType};
use raft::{Config, RawNode, StateRole};
use tidemill_base::{AppliedIndex, ErrorKind};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior};
use tracing::warn;

use crate::error::{OpenError, ProposeError};
use crate::log::log_view::LogView;
use crate::log::raft_log::RaftLog;
use crate::log::{LogPosition, Membership};
use crate::metrics;
use crate::node::Ports;
use crate::node::opening::{self, RecoveredMember};
use crate::node::proposal::{Pending, Proposal, Reply};
use crate::node::reads::Reads;
use crate::node::shared::Shared;
use crate::options::RaftOptions;
use crate::raft_logger::raft_logger;
use crate::save::saver::{SaveJob, run_saver};
use crate::save::state_store::SavedPosition;
use crate::watch::EventSink;

/// Entries applied under one hold of the state's lock.
const APPLY_CHUNK_ENTRIES: usize = 256;

/// Ticks of the Raft core between heartbeats, and before an election.
const HEARTBEAT_TICKS: usize = 2;
const ELECTION_TICKS: usize = 10;

/// A request that is no proposal.
#[derive(Debug)]
pub(crate) enum Request {
    /// Confirm that what is applied here is current.
    ReadIndex(oneshot::Sender<AppliedIndex>),
}

/// Why the loop cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoopError {
    /// A committed entry cannot be applied.
    #[error("{0}")]
    Entry(#[from] OpenError),
    /// The Raft library refused what it must accept.
    #[error("raft: {0}")]
    Raft(#[from] raft::Error),
    /// The member was closed while the disk refused.
    #[error("closed while the disk refused to write")]
    ClosedWhileWriting,
    /// A snapshot arrived although there is no network.
    #[error("a snapshot came from nowhere")]
    SnapshotFromNowhere,
}

/// One member of the quorum, running.
pub(crate) struct Member {
    options: RaftOptions,
    shared: Arc<Shared>,
    sink: Arc<dyn EventSink>,
    raft: RawNode<LogView>,
    log: RaftLog,
    proposals: mpsc::Receiver<Proposal>,
    requests: mpsc::Receiver<Request>,
    pending: Pending,
    reads: Reads,
    /// The last entry applied, whatever its kind.
    applied: u64,
    saves: Saves,
}

/// Where saving stands.
struct Saves {
    jobs: mpsc::Sender<SaveJob>,
    done: mpsc::Receiver<Option<u64>>,
    under_way: bool,
    /// The applied index that the last save began with.
    begun_index: u64,
    begun_bytes: u64,
    begun_at: Instant,
}

impl Member {
    pub(crate) fn new(
        options: RaftOptions,
        ports: Ports,
        recovered: RecoveredMember,
        proposals: mpsc::Receiver<Proposal>,
        requests: mpsc::Receiver<Request>,
    ) -> Result<Self, OpenError> {
        let RecoveredMember { shared, log, view, applied, saved } = recovered;
        let config = Config {
            id: options.node_id,
            applied,
            heartbeat_tick: HEARTBEAT_TICKS,
            election_tick: ELECTION_TICKS,
            // One value, so that the library draws no random number.
            min_election_tick: ELECTION_TICKS,
            max_election_tick: ELECTION_TICKS + 1,
            check_quorum: true,
            pre_vote: true,
            ..Config::default()
        };
        let raft = RawNode::new(&config, view, &raft_logger())
            .map_err(|error| OpenError::new(ErrorKind::Bug, format!("raft: {error}")))?;
        let (jobs, jobs_queued) = mpsc::channel(1);
        let (done_sender, done) = mpsc::channel(1);
        let saver = run_saver(
            Arc::clone(&ports.store),
            Arc::clone(&shared),
            options.clone(),
            jobs_queued,
            done_sender,
        );
        ports.spawn.dedicated("metadata-save", Box::pin(saver));
        let saves = Saves {
            jobs,
            done,
            under_way: false,
            begun_index: saved,
            begun_bytes: 0,
            begun_at: Instant::now(),
        };
        let state = shared.state.read();
        ports.sink.reset(state.applied_index(), &state.snapshot_events());
        metrics::set(&shared.metrics.applied_index, state.applied_index().0);
        metrics::set(&shared.metrics.saved_index, saved);
        drop(state);
        Ok(Self {
            options,
            shared,
            sink: ports.sink,
            raft,
            log,
            proposals,
            requests,
            pending: Pending::default(),
            reads: Reads::default(),
            applied,
            saves,
        })
    }

    /// Stands for election at once if this member is the whole quorum; then returns when it leads
    /// and has applied all that was committed before.
    pub(crate) async fn lead(&mut self) -> Result<(), LoopError> {
        if !self.raft.raft.prs().is_singleton() {
            // What was found of an earlier life is written again before it counts for others.
            let hard_state = self.raft.raft.hard_state();
            return self.persist(&hard_state, &[]).await;
        }
        self.raft.campaign()?;
        self.round().await
    }

    /// Runs until the member is closed or cannot go on.
    pub(crate) async fn run(&mut self) -> Result<(), LoopError> {
        let mut ticks = tokio::time::interval(self.options.tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let shared = Arc::clone(&self.shared);
        let closing = shared.closing();
        tokio::pin!(closing);
        loop {
            tokio::select! {
                biased;
                () = &mut closing => break,
                _ = ticks.tick() => self.tick().await,
                Some(request) = self.requests.recv() => self.take_requests(request),
                Some(saved) = self.saves.done.recv() => self.saved(saved).await,
                proposal = self.proposals.recv() => match proposal {
                    Some(first) => self.propose(first)?,
                    None => break,
                },
            }
            self.round().await?;
        }
        self.end().await;
        Ok(())
    }

    async fn tick(&mut self) {
        self.raft.tick();
        self.reads.ask_again();
        self.begin_save_if_due().await;
        metrics::set(&self.shared.metrics.proposals_pending, self.shared.budget.count());
    }

    fn take_requests(&mut self, first: Request) {
        let mut next = Some(first);
        while let Some(Request::ReadIndex(reader)) = next {
            self.reads.add(reader);
            next = self.requests.try_recv().ok();
        }
    }

    /// Turns queued proposals into entries: as many as one group commit takes.
    fn propose(&mut self, first: Proposal) -> Result<(), LoopError> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(proposal) = next {
            bytes += proposal.encoded.len();
            batch.push(proposal);
            let full = batch.len() >= self.options.batch_entries_max
                || bytes >= self.options.batch_bytes_max;
            next = if full { None } else { self.proposals.try_recv().ok() };
        }
        let entry =
            |proposal: &Proposal| Entry { data: proposal.encoded.clone(), ..Entry::default() };
        let message = Message {
            msg_type: MessageType::MsgPropose,
            from: self.options.node_id,
            entries: batch.iter().map(entry).collect::<Vec<_>>().into(),
            ..Message::default()
        };
        let (last_index, term) = (self.raft.raft.raft_log.last_index(), self.raft.raft.term);
        match self.raft.step(message) {
            Ok(()) => {
                metrics::add(&self.shared.metrics.proposals, batch.len() as u64);
                for (index, proposal) in (last_index + 1..).zip(batch) {
                    self.pending.push(LogPosition { index, term }, proposal);
                }
                Ok(())
            }
            Err(raft::Error::ProposalDropped) => {
                for proposal in batch {
                    proposal.reply.send(Err(ProposeError::NotLeader));
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Does everything the Raft core wants done.
    async fn round(&mut self) -> Result<(), LoopError> {
        let leads =
            self.raft.raft.state == StateRole::Leader && self.raft.raft.commit_to_current_term();
        if leads && let Some(context) = self.reads.ask() {
            self.raft.read_index(context);
        }
        while self.raft.has_ready() {
            let mut ready = self.raft.ready();
            if !ready.snapshot().is_empty() {
                return Err(LoopError::SnapshotFromNowhere);
            }
            for read in ready.take_read_states() {
                self.reads.confirm(&read.request_ctx, read.index);
            }
            self.apply(ready.take_committed_entries()).await?;
            let entries = ready.take_entries();
            if let Some(hard_state) = ready.hs() {
                self.raft.mut_store().set_hard_state(hard_state.clone());
            }
            if ready.must_sync() {
                let hard_state = self.raft.raft.hard_state();
                self.persist(&hard_state, &entries).await?;
                self.raft.mut_store().append(&entries);
            }
            let mut light = self.raft.advance_append(ready);
            self.apply(light.take_committed_entries()).await?;
            self.raft.advance_apply_to(self.applied);
            self.raft.mut_store().release(self.applied);
        }
        let applied = self.shared.state.read().applied_index();
        self.reads.answer(self.applied, applied);
        let leads_alone = self.raft.raft.state == StateRole::Leader
            && self.raft.raft.prs().is_singleton()
            && self.raft.raft.commit_to_current_term();
        self.shared.leads_alone.store(leads_alone, Ordering::Release);
        Ok(())
    }

    /// Makes entries durable, however often the disk refuses. A proposal that was appended is
    /// never given up: it may have reached the disk although the disk said no.
    async fn persist(
        &mut self,
        hard_state: &HardState,
        entries: &[Entry],
    ) -> Result<(), LoopError> {
        let mut wait = self.options.retry_wait;
        while let Err(error) = self.log.append(hard_state, entries).await {
            self.wait_after(&error.to_string(), &mut wait).await?;
        }
        Ok(())
    }

    async fn wait_after(&mut self, error: &str, wait: &mut Duration) -> Result<(), LoopError> {
        warn!(error, wait_ms = wait.as_millis() as u64, "the metadata log cannot be written");
        if self.shared.wait_or_closing(*wait).await {
            return Err(LoopError::ClosedWhileWriting);
        }
        *wait = (*wait * 2).min(self.options.retry_wait_max);
        Ok(())
    }

    async fn apply(&mut self, entries: Vec<Entry>) -> Result<(), LoopError> {
        let mut rest = &entries[..];
        while let Some(first) = rest.first() {
            if first.entry_type == EntryType::EntryNormal {
                let commands = rest
                    .iter()
                    .take(APPLY_CHUNK_ENTRIES)
                    .take_while(|entry| entry.entry_type == EntryType::EntryNormal)
                    .count();
                let (chunk, others) = rest.split_at(commands);
                self.apply_commands(chunk)?;
                rest = others;
            } else {
                self.change_members(first).await?;
                rest = &rest[1..];
            }
        }
        Ok(())
    }

    /// Applies one chunk, then tells its events, then answers its proposers.
    fn apply_commands(&mut self, chunk: &[Entry]) -> Result<(), LoopError> {
        let mut answers = Vec::with_capacity(chunk.len());
        let mut events = Vec::new();
        let mut bytes = 0;
        let (from, to) = {
            let mut state = self.shared.state.write();
            let from = state.applied_index();
            for entry in chunk {
                let proposal = self.pending.take(LogPosition::of(entry));
                if opening::is_command(entry) {
                    let (proposed, command, reply) = command_of(entry, proposal)?;
                    let applied = state.apply(AppliedIndex(entry.index), proposed, &command);
                    events.extend(applied.events);
                    answers.extend(reply.map(|reply| (reply, applied.outcome)));
                    bytes += entry.data.len() as u64;
                }
                self.applied = entry.index;
            }
            (from, state.applied_index())
        };
        metrics::add(&self.shared.applied_bytes, bytes);
        if to > from {
            metrics::add(&self.shared.metrics.commands_applied, chunk.len() as u64);
            metrics::set(&self.shared.metrics.applied_index, to.0);
            self.sink.deliver(from, to, &events);
            self.shared.hub.publish(from, to, &events);
            self.shared.applied.send_replace(to);
        }
        for (reply, outcome) in answers {
            reply.send(Ok(outcome));
        }
        Ok(())
    }

    async fn change_members(&mut self, entry: &Entry) -> Result<(), LoopError> {
        let members = if entry.entry_type == EntryType::EntryConfChange {
            let change: ConfChange = protobuf::Message::parse_from_bytes(&entry.data)
                .map_err(raft::Error::CodecError)?;
            self.raft.apply_conf_change(&change)?
        } else {
            let change: ConfChangeV2 = protobuf::Message::parse_from_bytes(&entry.data)
                .map_err(raft::Error::CodecError)?;
            self.raft.apply_conf_change(&change)?
        };
        self.raft.mut_store().set_members(members.clone());
        let membership = Membership { index: entry.index, members };
        let mut wait = self.options.retry_wait;
        while let Err(error) = self.log.set_membership(membership.clone()).await {
            self.wait_after(&error.to_string(), &mut wait).await?;
        }
        self.applied = entry.index;
        Ok(())
    }

    async fn begin_save_if_due(&mut self) {
        let saves = &self.saves;
        let bytes = self.shared.applied_bytes.load(Ordering::Relaxed) - saves.begun_bytes;
        let due = saves.begun_at.elapsed() >= self.options.state_save_interval
            || bytes >= self.options.state_save_bytes;
        if due && !saves.under_way && !self.shared.saves_held_back.load(Ordering::Relaxed) {
            self.begin_save().await;
        }
    }

    /// Hands what changed to the saver. Only applied entries are saved, and only durable ones are
    /// applied: the saved state is never ahead of the log.
    async fn begin_save(&mut self) {
        let index = self.shared.state.read().applied_index().0;
        if index <= self.saves.begun_index {
            return;
        }
        let Some(applied) = self.raft.store().position(index) else {
            warn!(index, "the term of an applied entry is not known; the state is not saved");
            return;
        };
        let began = Instant::now();
        let set = self.shared.state.write().take_changes();
        let stall_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.shared.metrics.save_stall_us_max.fetch_max(stall_us, Ordering::Relaxed);
        let membership = self.log.membership().clone();
        let position = SavedPosition { applied, membership, installed: false };
        self.saves.begun_index = index;
        self.saves.begun_bytes = self.shared.applied_bytes.load(Ordering::Relaxed);
        self.saves.begun_at = Instant::now();
        // The saver takes one job at a time and answers each, so that there is room.
        self.saves.under_way = self.saves.jobs.send(SaveJob { position, set }).await.is_ok();
    }

    async fn saved(&mut self, saved: Option<u64>) {
        self.saves.under_way = false;
        if let Some(index) = saved {
            metrics::set(&self.shared.saved_bytes, self.saves.begun_bytes);
            let base = self.log.truncate_front(index).await;
            self.raft.mut_store().truncate_front(base.min(self.applied));
        }
    }

    /// Refuses what is queued, and saves a last time so that the next start replays nothing.
    async fn end(&mut self) {
        self.proposals.close();
        while let Ok(proposal) = self.proposals.try_recv() {
            proposal.reply.send(Err(ProposeError::Closed));
        }
        if self.saves.under_way
            && let Some(saved) = self.saves.done.recv().await
        {
            self.saved(saved).await;
        }
        if !self.shared.saves_held_back.load(Ordering::Relaxed) {
            self.begin_save().await;
            if self.saves.under_way
                && let Some(saved) = self.saves.done.recv().await
            {
                self.saved(saved).await;
            }
        }
    }
}

impl Member {
    /// Waits until the saver has let go of the store. To be called last, when the member is closing.
    pub(crate) async fn stop_saver(&mut self) {
        let (no_more_jobs, _) = mpsc::channel(1);
        self.saves.jobs = no_more_jobs;
        while self.saves.done.recv().await.is_some() {}
    }
}

/// The command of an entry: at hand if it was proposed here, else decoded.
fn command_of(
    entry: &Entry,
    proposal: Option<Proposal>,
) -> Result<(tidemill_base::TimestampMs, tidemill_metadata_state::Command, Option<Reply>), LoopError>
{
    match proposal {
        Some(Proposal { command, proposed, reply, .. }) => Ok((proposed, command, Some(reply))),
        None => {
            let (proposed, command) = opening::decode(entry)?;
            Ok((proposed, command, None))
        }
    }
}
