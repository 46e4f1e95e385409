//! SyncGroup: the leader hands in the assignment, every member gets its part.

use std::collections::BTreeMap;

use bytes::Bytes;
use tidemill_base::twins::{self, Twin};
use tidemill_kafka::messages::sync_group::SyncGroupResponse;
use tidemill_kafka::{ErrorCode, KString};

use super::action::{GroupAction, Ticket};
use super::group::Group;
use super::members::Seat;
use super::phase::Phase;
use super::record::InFlight;

/// A request for an assignment.
#[derive(Clone, Debug)]
pub struct Sync {
    /// Names the request.
    pub ticket: Ticket,
    /// The generation that the member knows.
    pub generation: i32,
    /// The member.
    pub member_id: KString,
    /// The id of a static member.
    pub instance_id: Option<KString>,
    /// The kind of group, if the member says.
    pub protocol_type: Option<KString>,
    /// The protocol chosen, if the member says.
    pub protocol_name: Option<KString>,
    /// The leader's assignment by member; empty for others.
    pub assignments: Vec<(KString, Bytes)>,
}

impl Group {
    /// Takes a SyncGroup request. Its answer comes as an action: at once, or when the leader's
    /// assignment is recorded.
    pub fn handle_sync(&mut self, now_ms: u64, sync: &Sync) {
        match self.validate_sync(sync) {
            Err(code) => self.refuse_sync(sync.ticket, code),
            Ok(seat) => self.sync(now_ms, seat, sync),
        }
        self.advance_rebalance(now_ms);
    }

    fn validate_sync(&self, sync: &Sync) -> Result<Seat, ErrorCode> {
        if self.phase == Phase::Dead {
            return Err(ErrorCode::COORDINATOR_NOT_AVAILABLE);
        }
        let seat = self.validate(&sync.member_id, sync.instance_id.as_ref())?;
        if sync.generation != self.generation {
            return Err(ErrorCode::ILLEGAL_GENERATION);
        }
        let differs =
            |said: &Option<KString>, known: &Option<KString>| said.is_some() && said != known;
        if differs(&sync.protocol_type, &self.protocol_type)
            || differs(&sync.protocol_name, &self.protocol)
        {
            return Err(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        }
        Ok(seat)
    }

    fn sync(&mut self, now_ms: u64, seat: Seat, sync: &Sync) {
        match self.phase {
            Phase::Empty | Phase::Dead => {
                self.refuse_sync(sync.ticket, ErrorCode::UNKNOWN_MEMBER_ID);
            }
            Phase::PreparingRebalance { .. } => {
                self.refuse_sync(sync.ticket, ErrorCode::REBALANCE_IN_PROGRESS);
            }
            Phase::CompletingRebalance => {
                self.await_assignment(seat, sync.ticket);
                if self.leader == Some(seat) && !self.is_recording_assignment() {
                    self.record_assignment(now_ms, &sync.assignments);
                }
            }
            Phase::Stable => {
                let Some(member) = self.members.get_mut(seat) else { return };
                member.has_synced = true;
                member.restart_session(now_ms);
                let assignment = member.assignment.clone();
                self.answer_sync(sync.ticket, assignment);
            }
        }
    }

    fn await_assignment(&mut self, seat: Seat, ticket: Ticket) {
        let Some(member) = self.members.get_mut(seat) else { return };
        member.has_synced = true;
        if let Some(given_up) = member.syncing.replace(ticket) {
            self.refuse_sync(given_up, ErrorCode::REBALANCE_IN_PROGRESS);
        }
    }

    fn is_recording_assignment(&self) -> bool {
        self.records.iter().any(|(_, record)| {
            matches!(record, InFlight::Completed { generation, .. } if *generation == self.generation)
        })
    }

    /// Asks for the record of the leader's assignment. A member that it forgot gets an empty one.
    fn record_assignment(&mut self, now_ms: u64, assignments: &[(KString, Bytes)]) {
        let given: BTreeMap<&KString, &Bytes> =
            assignments.iter().map(|(member, assignment)| (member, assignment)).collect();
        let protocol = self.protocol.clone().unwrap_or_default();
        let mut bytes = 0;
        let mut assigned = BTreeMap::new();
        for (seat, member) in self.members.iter() {
            let assignment = given.get(&member.id).copied();
            let assignment = assignment.map_or(Bytes::new(), |bytes| Bytes::copy_from_slice(bytes));
            bytes += member.recorded_bytes(&protocol) + assignment.len();
            assigned.insert(seat, assignment);
        }
        if bytes > self.limits.generation_bytes_max {
            self.refuse_assignments(now_ms, ErrorCode::UNKNOWN_SERVER_ERROR);
            self.prepare_rebalance(now_ms);
            return;
        }
        self.record(InFlight::Completed { generation: self.generation, assigned });
    }

    /// Gives every member its part.
    pub(super) fn assign(&mut self, now_ms: u64, assigned: BTreeMap<Seat, Bytes>) {
        self.phase = Phase::Stable;
        for (seat, mut assignment) in assigned {
            let Some(member) = self.members.get_mut(seat) else { continue };
            if twins::is_on(Twin::AssignmentKept) && !member.assignment.is_empty() {
                assignment = member.assignment.clone();
            }
            member.assignment = assignment.clone();
            if let Some(ticket) = member.syncing.take() {
                member.restart_session(now_ms);
                self.answer_sync(ticket, assignment);
            }
        }
    }

    fn answer_sync(&mut self, ticket: Ticket, assignment: Bytes) {
        let response = SyncGroupResponse {
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol.clone(),
            assignment,
            ..SyncGroupResponse::default()
        };
        self.act(GroupAction::AnswerSync { ticket, response });
    }
}
