//! One group that is held: its lock, its waiting requests, and its actions carried out.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tidemill_base::GroupEpoch;
use tidemill_broker_logic::groups::{
    Group, GroupAction, GroupLimits, Join, Leaving, RecordId, Sync, Ticket,
};
use tidemill_kafka::messages::describe_groups::DescribedGroup;
use tidemill_kafka::messages::join_group::JoinGroupResponse;
use tidemill_kafka::messages::sync_group::SyncGroupResponse;
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::Committer;
use tokio::sync::oneshot;

use super::Groups;

/// A group in the hands of this broker.
pub(crate) struct Coordinator {
    pub(super) groups: Weak<Groups>,
    name: Arc<str>,
    held: Mutex<Held>,
}

/// What the lock protects.
pub(super) struct Held {
    pub(super) group: Group,
    /// The claim under which commands are proposed.
    pub(super) epoch: GroupEpoch,
    /// The last record that was begun.
    pub(super) newest_record: Option<RecordId>,
    waiting: BTreeMap<Ticket, Waiting>,
    tickets: u64,
    /// What the group was last counted as, in bytes.
    bytes: u64,
}

/// A request that waits for its answer.
enum Waiting {
    Join(oneshot::Sender<JoinGroupResponse>),
    Sync(oneshot::Sender<SyncGroupResponse>),
}

impl Held {
    fn wait(&mut self, waiting: Waiting) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.waiting.insert(ticket, waiting);
        ticket
    }
}

impl Coordinator {
    pub(super) fn new(
        groups: Weak<Groups>,
        name: Arc<str>,
        epoch: GroupEpoch,
        group: Group,
    ) -> Self {
        let held = Held {
            group,
            epoch,
            newest_record: None,
            waiting: BTreeMap::new(),
            tickets: 0,
            bytes: 0,
        };
        Self { groups, name, held: Mutex::new(held) }
    }

    /// The group's id.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Takes a JoinGroup request, whose ticket is set here, and returns its answer when there is one.
    pub(crate) async fn join(
        self: &Arc<Self>,
        limits: GroupLimits,
        mut join: Join,
    ) -> JoinGroupResponse {
        let is_new = join.member_id.is_empty();
        let has_room = self.groups.upgrade().is_some_and(|groups| !is_new || groups.has_room());
        if !has_room {
            return JoinGroupResponse {
                error_code: ErrorCode::COORDINATOR_NOT_AVAILABLE,
                ..JoinGroupResponse::default()
            };
        }
        let (sender, answer) = oneshot::channel();
        self.act(|held, now_ms| {
            join.ticket = held.wait(Waiting::Join(sender));
            held.group.set_limits(limits);
            held.group.handle_join(now_ms, join);
        });
        answer.await.unwrap_or_else(|_| JoinGroupResponse {
            error_code: ErrorCode::COORDINATOR_NOT_AVAILABLE,
            ..JoinGroupResponse::default()
        })
    }

    /// Takes a SyncGroup request, whose ticket is set here, and returns its answer when there is one.
    pub(crate) async fn sync(self: &Arc<Self>, mut sync: Sync) -> SyncGroupResponse {
        let (sender, answer) = oneshot::channel();
        self.act(|held, now_ms| {
            sync.ticket = held.wait(Waiting::Sync(sender));
            held.group.handle_sync(now_ms, &sync);
        });
        answer.await.unwrap_or_else(|_| SyncGroupResponse {
            error_code: ErrorCode::COORDINATOR_NOT_AVAILABLE,
            ..SyncGroupResponse::default()
        })
    }

    /// Takes a Heartbeat request.
    pub(crate) fn heartbeat(
        &self,
        generation: i32,
        member_id: &str,
        instance_id: Option<&KString>,
    ) -> ErrorCode {
        let now_ms = self.now_ms();
        self.held.lock().group.handle_heartbeat(now_ms, generation, member_id, instance_id)
    }

    /// Takes a LeaveGroup request.
    pub(crate) fn leave(
        self: &Arc<Self>,
        leaving: &[Leaving],
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        self.act(|held, now_ms| held.group.handle_leave(now_ms, leaving))
    }

    /// Takes an OffsetCommit request: as whom to commit.
    pub(crate) fn committer(
        &self,
        generation: i32,
        member_id: &str,
        instance_id: Option<&KString>,
    ) -> Result<Option<Committer>, ErrorCode> {
        let now_ms = self.now_ms();
        self.held.lock().group.handle_offset_commit(now_ms, generation, member_id, instance_id)
    }

    /// Takes a request to delete the group: nothing of it goes on here once this returns `Ok`.
    pub(crate) fn delete(self: &Arc<Self>) -> Result<(), ErrorCode> {
        self.act(|held, _| held.group.handle_delete())
    }

    /// Whether offsets of a topic may not be deleted.
    pub(crate) fn subscribes_to(&self, topic: &str) -> Result<bool, ErrorCode> {
        self.held.lock().group.subscribes_to(topic)
    }

    /// What DescribeGroups says, without the id.
    pub(crate) fn describe(&self) -> DescribedGroup {
        self.held.lock().group.describe()
    }

    /// The state's name and the kind of group.
    pub(crate) fn summary(&self) -> (&'static str, KString) {
        let held = self.held.lock();
        (held.group.state_name(), held.group.protocol_type())
    }

    /// Does what is due.
    pub(super) fn advance(self: &Arc<Self>) {
        self.act(|held, now_ms| held.group.advance(now_ms));
    }

    /// Ends the group here.
    pub(super) fn close(self: &Arc<Self>, code: ErrorCode) {
        self.act(|held, _| held.group.close(code));
    }

    pub(super) fn is_idle(&self) -> bool {
        self.held.lock().group.is_idle()
    }

    pub(super) fn epoch(&self) -> GroupEpoch {
        self.held.lock().epoch
    }

    /// Takes over a newer claim.
    pub(super) fn reclaimed(&self, epoch: GroupEpoch) {
        let mut held = self.held.lock();
        held.epoch = held.epoch.max(epoch);
    }

    /// Does something to the group and carries out what came of it.
    pub(super) fn act<T>(self: &Arc<Self>, act: impl FnOnce(&mut Held, u64) -> T) -> T {
        let Some(groups) = self.groups.upgrade() else {
            // The broker is gone: what waits is dropped, and with it answered.
            let mut held = self.held.lock();
            let result = act(&mut held, 0);
            held.waiting.clear();
            return result;
        };
        let mut held = self.held.lock();
        let result = act(&mut held, groups.now_ms());
        for action in held.group.take_actions() {
            self.carry_out(&groups, &mut held, action);
        }
        if let Some(at_ms) = held.group.next_deadline() {
            groups.alarms.set(&self.name, at_ms);
        }
        self.count_bytes(&groups, &mut held);
        let is_dead = held.group.is_dead();
        drop(held);
        if is_dead {
            groups.remove(self);
        }
        result
    }

    /// Whoever no longer waits for an answer has closed its connection.
    fn carry_out(self: &Arc<Self>, groups: &Groups, held: &mut Held, action: GroupAction) {
        match action {
            GroupAction::AnswerJoin { ticket, response } => {
                if let Some(Waiting::Join(sender)) = held.waiting.remove(&ticket) {
                    let _ = sender.send(response);
                }
            }
            GroupAction::AnswerSync { ticket, response } => {
                if let Some(Waiting::Sync(sender)) = held.waiting.remove(&ticket) {
                    let _ = sender.send(response);
                }
            }
            GroupAction::Record { id, generation } => {
                self.begin_record(groups, held, id, generation);
            }
        }
    }

    fn count_bytes(&self, groups: &Groups, held: &mut Held) {
        let bytes = if held.group.is_dead() { 0 } else { held.group.approximate_bytes() as u64 };
        groups.bytes.fetch_add(bytes, Ordering::Relaxed);
        groups.bytes.fetch_sub(held.bytes, Ordering::Relaxed);
        held.bytes = bytes;
    }

    fn now_ms(&self) -> u64 {
        self.groups.upgrade().map_or(0, |groups| groups.now_ms())
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        if let Some(groups) = self.groups.upgrade() {
            groups.bytes.fetch_sub(self.held.get_mut().bytes, Ordering::Relaxed);
        }
    }
}
