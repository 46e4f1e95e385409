//! Static members (KIP-345): a new process takes the place of an old one under its instance id.

use std::collections::BTreeSet;

use bytes::Bytes;
use tidemill_kafka::consumer_protocol::{self, ConsumerProtocolSubscription};
use tidemill_kafka::messages::join_group::JoinGroupResponse;
use tidemill_kafka::{ErrorCode, KString};

use super::action::{GroupAction, Ticket};
use super::group::Group;
use super::join::Join;
use super::members::Seat;
use super::phase::Phase;
use super::record::InFlight;

/// A static member that came back while its group was stable: it is answered once its new id is
/// recorded, and no rebalance is needed.
#[derive(Clone, Debug)]
pub(super) struct Comeback {
    seat: Seat,
    ticket: Ticket,
    can_skip_assignment: bool,
    /// The leader's id before.
    leader_before: KString,
}

impl Group {
    /// Gives the place of an instance to a new process. The old one is fenced from now on.
    pub(super) fn replace_static_member(
        &mut self,
        now_ms: u64,
        seat: Seat,
        id: KString,
        join: &Join,
    ) {
        let leader_before = self.leader_id();
        self.answer_waiting(seat, ErrorCode::FENCED_INSTANCE_ID);
        self.members.rename(seat, id);
        let reads_the_same = self.reads_the_same(seat, join);
        self.update_member(seat, join);
        if let Some(member) = self.members.get_mut(seat) {
            member.client_id = join.client_id.detached();
            member.client_host = join.client_host.detached();
            member.restart_session(now_ms);
        }
        match self.phase {
            Phase::Stable if reads_the_same && self.protocol == self.members.elect_protocol() => {
                self.record(InFlight::Amended(Comeback {
                    seat,
                    ticket: join.ticket,
                    can_skip_assignment: join.can_skip_assignment,
                    leader_before,
                }));
            }
            // While the generation completes, the leader may assign to the old id.
            Phase::Stable | Phase::CompletingRebalance => self.prepare_rebalance(now_ms),
            Phase::PreparingRebalance { .. } | Phase::Empty | Phase::Dead => {}
        }
    }

    /// Whether the process that comes back subscribes to the topics that the old one did. What else
    /// it says (what it owns, which rack it is in) differs with every start.
    fn reads_the_same(&self, seat: Seat, join: &Join) -> bool {
        let (Some(member), Some(protocol)) = (self.members.get(seat), &self.protocol) else {
            return false;
        };
        let before = member.protocols.metadata(protocol);
        let offered = join.protocols.iter().find(|(name, _)| name == protocol);
        let Some((_, after)) = offered else { return false };
        if join.protocol_type != consumer_protocol::PROTOCOL_TYPE || before == *after {
            return true;
        }
        match (topics(before), topics(after.clone())) {
            (Some(before), Some(after)) => before == after,
            _ => true,
        }
    }

    /// Answers a static member whose new id is recorded, unless a rebalance that has begun since will.
    pub(super) fn complete_comeback(&mut self, comeback: &Comeback, result: Result<(), ErrorCode>) {
        let Some(member) = self.members.get_mut(comeback.seat) else { return };
        if self.phase != Phase::Stable || member.joining != Some(comeback.ticket) {
            return;
        }
        member.joining = None;
        member.is_new = false;
        if let Err(code) = result {
            self.refuse_join(comeback.ticket, KString::new(), code);
            return;
        }
        let response = if comeback.can_skip_assignment {
            let skip_assignment = self.leader == Some(comeback.seat);
            JoinGroupResponse { skip_assignment, ..self.joined(comeback.seat) }
        } else {
            // It must not believe that it leads: a stable group would ignore its assignment.
            let leader = comeback.leader_before.clone();
            JoinGroupResponse { leader, members: Vec::new(), ..self.joined(comeback.seat) }
        };
        self.act(GroupAction::AnswerJoin { ticket: comeback.ticket, response });
    }
}

/// The topics of a consumer's subscription, if it is one.
pub(super) fn topics(metadata: Bytes) -> Option<BTreeSet<KString>> {
    let subscription = ConsumerProtocolSubscription::from_bytes(metadata).ok()?;
    Some(subscription.topics.into_iter().collect())
}
