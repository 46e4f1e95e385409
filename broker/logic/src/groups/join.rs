//! JoinGroup: who may join, and what a join sets going.

use bytes::Bytes;
use tidemill_kafka::{ErrorCode, KString};
use uuid::Uuid;

use super::action::{GroupAction, Ticket};
use super::group::{Group, milliseconds};
use super::limits::GroupLimits;
use super::member::{Member, Protocols};
use super::members::Seat;
use super::phase::Phase;

/// A request to join.
#[derive(Clone, Debug)]
pub struct Join {
    /// Names the request.
    pub ticket: Ticket,
    /// The member's id; empty if it has none.
    pub member_id: KString,
    /// The id of a static member.
    pub instance_id: Option<KString>,
    /// The client's id.
    pub client_id: KString,
    /// The client's address, as Kafka shows it: `/127.0.0.1`.
    pub client_host: KString,
    /// How long a rebalance waits for the member, in milliseconds; negative for the session timeout.
    pub rebalance_timeout_ms: i32,
    /// How long the member may be silent, in milliseconds.
    pub session_timeout_ms: i32,
    /// The kind of group: `consumer` for consumers.
    pub protocol_type: KString,
    /// What the member offers, best first.
    pub protocols: Vec<(KString, Bytes)>,
    /// Makes the member's id unique, should it get one. Drawn anew for each request.
    pub unique: Uuid,
    /// Whether a member without an id is given one and sent away to come back with it (version 4 and
    /// above).
    pub requires_known_id: bool,
    /// Whether a leader that comes back understands that it must not assign (version 9 and above).
    pub can_skip_assignment: bool,
}

impl Join {
    /// The id that the member gets if it has none.
    fn new_member_id(&self) -> KString {
        let stem = self.instance_id.as_ref().unwrap_or(&self.client_id);
        format!("{stem}-{}", self.unique).into()
    }

    /// Checks what is wrong whatever the group.
    fn check(&self, limits: &GroupLimits) -> Result<(), ErrorCode> {
        let timeouts = limits.session_timeout_min_ms..=limits.session_timeout_max_ms;
        if !timeouts.contains(&self.session_timeout_ms) {
            return Err(ErrorCode::INVALID_SESSION_TIMEOUT);
        }
        let names = [Some(&self.client_id), self.instance_id.as_ref(), Some(&self.protocol_type)];
        let mut names =
            names.into_iter().flatten().chain(self.protocols.iter().map(|(name, _)| name));
        let bytes: usize = self.protocols.iter().map(|(name, data)| name.len() + data.len()).sum();
        let fits = names.all(|name| name.len() <= GroupLimits::NAME_BYTES_MAX)
            && self.protocols.len() <= limits.protocols_max
            && bytes <= limits.member_metadata_bytes_max;
        if !fits || self.instance_id.as_ref().is_some_and(KString::is_empty) {
            return Err(ErrorCode::INVALID_REQUEST);
        }
        Ok(())
    }
}

impl Group {
    /// Takes a JoinGroup request. Its answer comes as an action: at once, or when the rebalance
    /// that it takes part in completes.
    pub fn handle_join(&mut self, now_ms: u64, join: Join) {
        if let Err(code) = join.check(&self.limits) {
            self.refuse_join(join.ticket, join.member_id, code);
            return;
        }
        if !self.has_room_for(&join.member_id) {
            self.pending.remove(&join.member_id);
            if let Some(seat) = self.members.seat(&join.member_id) {
                self.take_out(seat);
            }
            self.refuse_join(join.ticket, KString::new(), ErrorCode::GROUP_MAX_SIZE_REACHED);
        } else if self.phase == Phase::Dead {
            self.refuse_join(join.ticket, join.member_id, ErrorCode::COORDINATOR_NOT_AVAILABLE);
        } else if !self.supports(&join) {
            self.refuse_join(join.ticket, join.member_id, ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
        } else if join.member_id.is_empty() {
            self.join_as_new(now_ms, join);
        } else {
            self.join_as_known(now_ms, join);
        }
        self.advance_rebalance(now_ms);
    }

    /// Whether the group takes the member. While it waits for members to join, those that have
    /// joined count, so that the last to come are turned away if the limit was lowered.
    fn has_room_for(&self, member_id: &str) -> bool {
        let known = self.members.seat(member_id).and_then(|seat| self.members.get(seat));
        match self.phase {
            Phase::Empty | Phase::Dead => true,
            Phase::PreparingRebalance { .. } => {
                let joined = self.members.iter().filter(|(_, member)| member.joining.is_some());
                known.is_some_and(|member| member.joining.is_some())
                    || joined.count() < self.limits.members_max
            }
            Phase::CompletingRebalance | Phase::Stable => {
                known.is_some() || self.members.len() < self.limits.members_max
            }
        }
    }

    /// Whether the group and the member have a protocol in common.
    fn supports(&self, join: &Join) -> bool {
        if self.phase == Phase::Empty {
            return !join.protocol_type.is_empty() && !join.protocols.is_empty();
        }
        self.protocol_type.as_ref() == Some(&join.protocol_type)
            && join.protocols.iter().any(|(name, _)| self.members.all_offer(name))
    }

    fn join_as_new(&mut self, now_ms: u64, join: Join) {
        let id = join.new_member_id();
        if let Some(instance_id) = &join.instance_id {
            match self.members.seat_of_instance(instance_id) {
                Some(seat) => self.replace_static_member(now_ms, seat, id, &join),
                None => self.add_member(now_ms, id, &join),
            }
        } else if !join.requires_known_id {
            self.add_member(now_ms, id, &join);
        } else if self.pending.len() >= self.limits.pending_members_max {
            self.refuse_join(join.ticket, KString::new(), ErrorCode::GROUP_MAX_SIZE_REACHED);
        } else {
            let expires_at_ms = now_ms.saturating_add(milliseconds(join.session_timeout_ms));
            self.pending.insert(id.clone(), expires_at_ms);
            self.refuse_join(join.ticket, id, ErrorCode::MEMBER_ID_REQUIRED);
        }
    }

    fn join_as_known(&mut self, now_ms: u64, join: Join) {
        if join.instance_id.is_none() && self.pending.contains_key(&join.member_id) {
            self.add_member(now_ms, join.member_id.detached(), &join);
            return;
        }
        let seat = match self.validate(&join.member_id, join.instance_id.as_ref()) {
            Ok(seat) => seat,
            Err(code) => return self.refuse_join(join.ticket, join.member_id, code),
        };
        let unchanged =
            self.members.get(seat).is_some_and(|member| member.protocols.matches(&join.protocols));
        match self.phase {
            Phase::PreparingRebalance { .. } => self.update_member(seat, &join),
            // Its answer may have been lost.
            Phase::CompletingRebalance if unchanged => self.answer_joined(seat, join.ticket),
            // A leader rejoins to assign anew, for instance because a topic has more partitions.
            Phase::Stable if unchanged && self.leader != Some(seat) => {
                self.answer_joined(seat, join.ticket);
            }
            Phase::CompletingRebalance | Phase::Stable => {
                self.update_member(seat, &join);
                self.prepare_rebalance(now_ms);
            }
            Phase::Empty | Phase::Dead => {
                self.refuse_join(join.ticket, join.member_id, ErrorCode::UNKNOWN_MEMBER_ID);
            }
        }
    }

    fn answer_joined(&mut self, seat: Seat, ticket: Ticket) {
        let response = self.joined(seat);
        self.act(GroupAction::AnswerJoin { ticket, response });
    }

    fn add_member(&mut self, now_ms: u64, id: KString, join: &Join) {
        if self.members.is_empty() {
            self.protocol_type = Some(join.protocol_type.detached());
        }
        self.pending.remove(&id);
        let seat = self.members.add(Member {
            id,
            instance_id: join.instance_id.as_ref().map(KString::detached),
            client_id: join.client_id.detached(),
            client_host: join.client_host.detached(),
            rebalance_timeout_ms: 0,
            session_timeout_ms: 0,
            protocols: Protocols::default(),
            assignment: Bytes::new(),
            is_new: true,
            expires_at_ms: now_ms.saturating_add(GroupLimits::NEW_MEMBER_JOIN_TIMEOUT_MS),
            joining: None,
            syncing: None,
            has_synced: false,
        });
        self.update_member(seat, join);
        self.leader.get_or_insert(seat);
        match &mut self.phase {
            Phase::PreparingRebalance { initial: Some(initial), .. } if self.generation == 0 => {
                initial.member_added = true;
            }
            Phase::PreparingRebalance { .. } => {}
            _ => self.prepare_rebalance(now_ms),
        }
    }

    /// Takes over what a member's request says, and lets the request wait. One that waited before
    /// was given up by the client.
    pub(super) fn update_member(&mut self, seat: Seat, join: &Join) {
        let Some(member) = self.members.get_mut(seat) else { return };
        let rebalance_timeout_ms = match join.rebalance_timeout_ms {
            ..0 => join.session_timeout_ms,
            timeout_ms => timeout_ms,
        };
        member.rebalance_timeout_ms = milliseconds(rebalance_timeout_ms);
        member.session_timeout_ms = milliseconds(join.session_timeout_ms);
        if !member.protocols.matches(&join.protocols) {
            member.protocols = Protocols::detached(&join.protocols);
        }
        let id = member.id.clone();
        if let Some(given_up) = member.joining.replace(join.ticket) {
            self.refuse_join(given_up, id, ErrorCode::REBALANCE_IN_PROGRESS);
        }
    }
}
