//! Records of generations: what is asked of the metadata, and what its answer sets free.
//!
//! Records of a group are proposed in order. A later one stands for an earlier one that failed.

use std::collections::BTreeMap;

use bytes::Bytes;
use tidemill_base::GroupGeneration;
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::{Generation, Member as RecordedMember};

use super::action::{GroupAction, RecordFailure, RecordId};
use super::group::Group;
use super::limits::GroupLimits;
use super::member::Member;
use super::members::Seat;
use super::phase::Phase;
use super::static_member::Comeback;

/// A record whose result is awaited.
#[derive(Clone, Debug)]
pub(super) enum InFlight {
    /// A generation with its assignment.
    Completed { generation: i32, assigned: BTreeMap<Seat, Bytes> },
    /// A generation without members.
    Emptied { generation: i32 },
    /// The present generation with another id of a static member.
    Amended(Comeback),
}

impl Group {
    /// Asks for a record of the group as it stands.
    pub(super) fn record(&mut self, what: InFlight) {
        let id = RecordId(self.records_begun);
        self.records_begun += 1;
        self.record_retry_at_ms = None;
        let generation = self.recorded_as(&what);
        self.records.push_back((id, what));
        self.act(GroupAction::Record { id, generation });
    }

    fn recorded_as(&self, what: &InFlight) -> Generation {
        let text = |name: &KString| name.as_str().to_owned();
        let protocol = self.protocol.clone().unwrap_or_default();
        let member = |(seat, member): (Seat, &Member)| RecordedMember {
            member_id: text(&member.id),
            instance_id: member.instance_id.as_ref().map(text),
            client_id: text(&member.client_id),
            client_host: text(&member.client_host),
            rebalance_timeout_ms: i32::try_from(member.rebalance_timeout_ms).unwrap_or(i32::MAX),
            session_timeout_ms: i32::try_from(member.session_timeout_ms).unwrap_or(i32::MAX),
            subscription: member.protocols.metadata(&protocol),
            assignment: match what {
                InFlight::Completed { assigned, .. } => {
                    assigned.get(&seat).cloned().unwrap_or_default()
                }
                _ => member.assignment.clone(),
            },
        };
        let leader = self.leader.and_then(|seat| self.members.get(seat));
        Generation {
            generation: GroupGeneration(self.generation),
            protocol_type: self.protocol_type.as_ref().map(text).unwrap_or_default(),
            protocol: self.protocol.as_ref().map(text),
            leader: leader.map(|member| text(&member.id)),
            members: self.members.iter().map(member).collect(),
        }
    }

    /// Takes the result of a record.
    pub fn generation_recorded(
        &mut self,
        now_ms: u64,
        id: RecordId,
        result: Result<(), RecordFailure>,
    ) {
        let Some(place) = self.records.iter().position(|(known, _)| *known == id) else { return };
        let Some((_, record)) = self.records.remove(place) else { return };
        let result = match result {
            Ok(()) => Ok(()),
            Err(RecordFailure::NotCoordinator) => {
                self.close(ErrorCode::NOT_COORDINATOR);
                return;
            }
            Err(RecordFailure::Unavailable) => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE),
            Err(RecordFailure::Refused) => Err(ErrorCode::UNKNOWN_SERVER_ERROR),
        };
        match record {
            InFlight::Completed { generation, assigned } => {
                self.assignment_recorded(now_ms, generation, assigned, result);
            }
            InFlight::Emptied { generation } => self.emptiness_recorded(now_ms, generation, result),
            InFlight::Amended(comeback) => self.complete_comeback(&comeback, result),
        }
        self.advance_rebalance(now_ms);
    }

    fn assignment_recorded(
        &mut self,
        now_ms: u64,
        generation: i32,
        assigned: BTreeMap<Seat, Bytes>,
        result: Result<(), ErrorCode>,
    ) {
        if result.is_ok() {
            self.generation_recorded = self.generation_recorded.max(generation);
        }
        if self.phase != Phase::CompletingRebalance || self.generation != generation {
            return; // A rebalance has begun since, and those that waited know of it.
        }
        match result {
            Ok(()) => self.assign(now_ms, assigned),
            Err(code) => {
                self.refuse_assignments(now_ms, code);
                self.prepare_rebalance(now_ms);
            }
        }
    }

    fn emptiness_recorded(&mut self, now_ms: u64, generation: i32, result: Result<(), ErrorCode>) {
        let is_current = self.phase == Phase::Empty && self.generation == generation;
        match result {
            Ok(()) => self.generation_recorded = self.generation_recorded.max(generation),
            Err(_) if is_current => {
                self.record_retry_at_ms = Some(now_ms.saturating_add(GroupLimits::RECORD_RETRY_MS));
            }
            Err(_) => {}
        }
    }
}
