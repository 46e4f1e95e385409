//! The group: its fields, how it begins and ends, and the answers it gives.

use std::collections::{BTreeMap, VecDeque};

use tidemill_base::GroupGeneration;
use tidemill_kafka::messages::join_group::{JoinGroupResponse, JoinGroupResponseMember};
use tidemill_kafka::messages::sync_group::SyncGroupResponse;
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::Generation;

use super::action::{GroupAction, RecordId, Ticket};
use super::limits::GroupLimits;
use super::member::{Member, Protocols};
use super::members::{Members, Seat};
use super::phase::Phase;
use super::record::InFlight;

/// A group in the hands of its coordinator.
///
/// Call a `handle_*` when a request comes, [`generation_recorded`](Self::generation_recorded) when a
/// record has its result, and [`advance`](Self::advance) when the time of
/// [`next_deadline`](Self::next_deadline) has come. After each of them carry out
/// [`take_actions`](Self::take_actions) and ask for the next deadline again (after a heartbeat or an
/// offset commit that is not needed: they never bring it forward). Times are milliseconds of one
/// monotonic clock.
#[derive(Clone, Debug)]
pub struct Group {
    pub(super) limits: GroupLimits,
    pub(super) phase: Phase,
    /// The number of the last generation that began; 0 before the first.
    pub(super) generation: i32,
    /// The number of the last generation that the metadata is known to have.
    pub(super) generation_recorded: i32,
    pub(super) protocol_type: Option<KString>,
    pub(super) protocol: Option<KString>,
    pub(super) leader: Option<Seat>,
    pub(super) members: Members,
    /// Ids given out with MEMBER_ID_REQUIRED, and until when they may be used.
    pub(super) pending: BTreeMap<KString, u64>,
    /// When members that have not asked for their assignment are removed.
    pub(super) sync_deadline_ms: Option<u64>,
    /// Records whose result is awaited, in the order in which they were asked for.
    pub(super) records: VecDeque<(RecordId, InFlight)>,
    pub(super) records_begun: u64,
    /// When the record of an empty generation is tried again.
    pub(super) record_retry_at_ms: Option<u64>,
    actions: Vec<GroupAction>,
}

impl Group {
    /// The group as the metadata recorded it: its members go on, each with a session that begins
    /// now.
    #[must_use]
    pub fn restore(limits: GroupLimits, recorded: Option<&Generation>, now_ms: u64) -> Self {
        let mut group = Self {
            limits,
            phase: Phase::Empty,
            generation: 0,
            generation_recorded: 0,
            protocol_type: None,
            protocol: None,
            leader: None,
            members: Members::default(),
            pending: BTreeMap::new(),
            sync_deadline_ms: None,
            records: VecDeque::new(),
            records_begun: 0,
            record_retry_at_ms: None,
            actions: Vec::new(),
        };
        let Some(recorded) = recorded else { return group };
        group.generation = recorded.generation.0;
        group.generation_recorded = recorded.generation.0;
        let protocol_type = Some(&recorded.protocol_type).filter(|name| !name.is_empty());
        group.protocol_type = protocol_type.map(KString::from);
        group.protocol = recorded.protocol.as_ref().map(KString::from);
        let protocol = group.protocol.clone().unwrap_or_default();
        for member in &recorded.members {
            let mut restored = Member {
                id: (&member.member_id).into(),
                instance_id: member.instance_id.as_ref().map(KString::from),
                client_id: (&member.client_id).into(),
                client_host: (&member.client_host).into(),
                rebalance_timeout_ms: milliseconds(member.rebalance_timeout_ms),
                session_timeout_ms: milliseconds(member.session_timeout_ms),
                protocols: Protocols::detached(&[(protocol.clone(), member.subscription.clone())]),
                assignment: member.assignment.clone(),
                is_new: false,
                expires_at_ms: 0,
                joining: None,
                syncing: None,
                has_synced: true,
            };
            restored.restart_session(now_ms);
            let seat = group.members.add(restored);
            if recorded.leader.as_ref() == Some(&member.member_id) || group.leader.is_none() {
                group.leader = Some(seat);
            }
        }
        if !group.members.is_empty() {
            group.phase = Phase::Stable;
        }
        group
    }

    /// Changes the limits for what comes next.
    pub fn set_limits(&mut self, limits: GroupLimits) {
        self.limits = limits;
    }

    /// What is to be done, in order. Empties the list.
    #[must_use]
    pub fn take_actions(&mut self) -> Vec<GroupAction> {
        std::mem::take(&mut self.actions)
    }

    /// The number of the last generation that began; 0 before the first.
    #[must_use]
    pub fn generation(&self) -> GroupGeneration {
        GroupGeneration(self.generation)
    }

    /// Whether the group is not here any more; the caller drops it.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.phase == Phase::Dead
    }

    /// Whether nothing is lost when the caller drops the group and restores it later.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Empty
            && self.pending.is_empty()
            && self.records.is_empty()
            && self.record_retry_at_ms.is_none()
            && self.actions.is_empty()
    }

    /// About how much memory the group takes, in bytes.
    #[must_use]
    pub fn approximate_bytes(&self) -> usize {
        let pending: usize = self.pending.keys().map(|id| 64 + id.len()).sum();
        size_of::<Self>() + self.members.bytes() + pending
    }

    /// Ends the group here, because another broker coordinates it or this one is shutting down:
    /// everything that waits is answered with `code`.
    pub fn close(&mut self, code: ErrorCode) {
        let seats = self.members.seats_where(|_| true);
        for seat in seats {
            self.answer_waiting(seat, code);
            self.members.remove(seat);
        }
        self.leader = None;
        self.pending.clear();
        self.records.clear();
        self.record_retry_at_ms = None;
        self.sync_deadline_ms = None;
        self.phase = Phase::Dead;
    }

    pub(super) fn act(&mut self, action: GroupAction) {
        self.actions.push(action);
    }

    /// Checks that a request comes from a member: the id is known and, if an instance id is given,
    /// it is that instance's present id.
    pub(super) fn validate(
        &self,
        member_id: &str,
        instance_id: Option<&KString>,
    ) -> Result<Seat, ErrorCode> {
        match instance_id {
            Some(instance_id) => {
                let seat = self.members.seat_of_instance(instance_id);
                let seat = seat.ok_or(ErrorCode::UNKNOWN_MEMBER_ID)?;
                if self.members.seat(member_id) != Some(seat) {
                    return Err(ErrorCode::FENCED_INSTANCE_ID);
                }
                Ok(seat)
            }
            None => self.members.seat(member_id).ok_or(ErrorCode::UNKNOWN_MEMBER_ID),
        }
    }

    /// The present id of the leader; empty if there is none.
    pub(super) fn leader_id(&self) -> KString {
        let leader = self.leader.and_then(|seat| self.members.get(seat));
        leader.map(|member| member.id.clone()).unwrap_or_default()
    }

    /// What a member is told of the generation when it has joined it.
    pub(super) fn joined(&self, seat: Seat) -> JoinGroupResponse {
        let id = self.members.get(seat).map(|member| member.id.clone());
        let is_leader = self.leader == Some(seat);
        JoinGroupResponse {
            generation_id: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol.clone(),
            leader: self.leader_id(),
            member_id: id.unwrap_or_default(),
            members: if is_leader { self.everyone() } else { Vec::new() },
            ..JoinGroupResponse::default()
        }
    }

    /// All members, as the leader is told.
    pub(super) fn everyone(&self) -> Vec<JoinGroupResponseMember> {
        let protocol = self.protocol.clone().unwrap_or_default();
        let told = |(_, member): (Seat, &Member)| JoinGroupResponseMember {
            member_id: member.id.clone(),
            group_instance_id: member.instance_id.clone(),
            metadata: member.protocols.metadata(&protocol),
        };
        self.members.iter().map(told).collect()
    }

    pub(super) fn refuse_join(&mut self, ticket: Ticket, member_id: KString, code: ErrorCode) {
        let response =
            JoinGroupResponse { error_code: code, member_id, ..JoinGroupResponse::default() };
        self.act(GroupAction::AnswerJoin { ticket, response });
    }

    pub(super) fn refuse_sync(&mut self, ticket: Ticket, code: ErrorCode) {
        let response = SyncGroupResponse { error_code: code, ..SyncGroupResponse::default() };
        self.act(GroupAction::AnswerSync { ticket, response });
    }

    /// Refuses whatever requests of a member wait. The client asks for a new id when its own is not
    /// known, so that one is not told again.
    pub(super) fn answer_waiting(&mut self, seat: Seat, code: ErrorCode) {
        let Some(member) = self.members.get_mut(seat) else { return };
        let (joining, syncing) = (member.joining.take(), member.syncing.take());
        let forgotten = code == ErrorCode::UNKNOWN_MEMBER_ID;
        let id = if forgotten { KString::new() } else { member.id.clone() };
        if let Some(ticket) = joining {
            self.refuse_join(ticket, id, code);
        }
        if let Some(ticket) = syncing {
            self.refuse_sync(ticket, code);
        }
    }
}

/// A timeout of a client, which is never negative here.
pub(super) fn milliseconds(timeout_ms: i32) -> u64 {
    u64::try_from(timeout_ms).unwrap_or(0)
}
