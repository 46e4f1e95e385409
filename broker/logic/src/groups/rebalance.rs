//! Rebalances: how one begins, and how the members that joined become a generation.

use bytes::Bytes;
use tidemill_kafka::ErrorCode;

use super::action::GroupAction;
use super::group::{Group, milliseconds};
use super::member::Member;
use super::members::Seat;
use super::phase::{InitialDelay, Phase};
use super::record::InFlight;

impl Group {
    /// Begins a rebalance. Members that wait for an assignment are told to join again.
    pub(super) fn prepare_rebalance(&mut self, now_ms: u64) {
        if self.phase == Phase::CompletingRebalance {
            self.refuse_assignments(now_ms, ErrorCode::REBALANCE_IN_PROGRESS);
        }
        self.sync_deadline_ms = None;
        let timeout_ms = self.members.rebalance_timeout_max_ms();
        self.phase = if self.phase == Phase::Empty {
            let delay_ms = milliseconds(self.limits.initial_rebalance_delay_ms);
            let remaining_ms = timeout_ms.saturating_sub(delay_ms);
            let initial = Some(InitialDelay { remaining_ms, member_added: false });
            Phase::PreparingRebalance { deadline_ms: now_ms.saturating_add(delay_ms), initial }
        } else {
            let deadline_ms = now_ms.saturating_add(timeout_ms);
            Phase::PreparingRebalance { deadline_ms, initial: None }
        };
    }

    /// Takes back the assignments of the generation and answers those that wait for theirs.
    pub(super) fn refuse_assignments(&mut self, now_ms: u64, code: ErrorCode) {
        let mut waiting = Vec::new();
        for (_, member) in self.members.iter_mut() {
            member.assignment = Bytes::new();
            if let Some(ticket) = member.syncing.take() {
                member.restart_session(now_ms);
                waiting.push(ticket);
            }
        }
        waiting.into_iter().for_each(|ticket| self.refuse_sync(ticket, code));
    }

    /// Completes the rebalance if all have joined, or if its time is up.
    pub(super) fn advance_rebalance(&mut self, now_ms: u64) {
        let Phase::PreparingRebalance { deadline_ms, initial } = self.phase else { return };
        let is_due = now_ms >= deadline_ms;
        match initial {
            // The initial delay is not cut short: who else will come is not known.
            Some(_) if !is_due => {}
            Some(initial) if initial.member_added && initial.remaining_ms > 0 => {
                let configured_ms = milliseconds(self.limits.initial_rebalance_delay_ms);
                let delay_ms = configured_ms.min(initial.remaining_ms);
                let remaining_ms = initial.remaining_ms - delay_ms;
                self.phase = Phase::PreparingRebalance {
                    deadline_ms: now_ms.saturating_add(delay_ms),
                    initial: Some(InitialDelay { remaining_ms, member_added: false }),
                };
            }
            Some(_) => self.complete_join(now_ms),
            None if is_due || self.all_have_joined() => self.complete_join(now_ms),
            None => {}
        }
    }

    fn all_have_joined(&self) -> bool {
        self.pending.is_empty() && self.members.iter().all(|(_, member)| member.joining.is_some())
    }

    /// Makes a generation of those that joined. Static members stay in it until their session ends.
    fn complete_join(&mut self, now_ms: u64) {
        let is_missing = |member: &Member| member.joining.is_none() && member.instance_id.is_none();
        for seat in self.members.seats_where(is_missing) {
            self.take_out(seat);
        }
        if !self.elect_leader() && !self.members.is_empty() {
            // Only static members, none of which came. Their sessions decide.
            let timeout_ms = self.members.rebalance_timeout_max_ms();
            let deadline_ms = now_ms.saturating_add(timeout_ms.max(1));
            self.phase = Phase::PreparingRebalance { deadline_ms, initial: None };
            return;
        }
        self.generation = self.generation.saturating_add(1);
        self.protocol = self.members.elect_protocol();
        if self.members.is_empty() {
            self.phase = Phase::Empty;
            self.record(InFlight::Emptied { generation: self.generation });
            return;
        }
        self.phase = Phase::CompletingRebalance;
        let timeout_ms = self.members.rebalance_timeout_max_ms();
        self.sync_deadline_ms = Some(now_ms.saturating_add(timeout_ms));
        for seat in self.members.seats_where(|_| true) {
            let response = self.joined(seat);
            let Some(member) = self.members.get_mut(seat) else { continue };
            member.restart_session(now_ms);
            member.is_new = false;
            member.has_synced = false;
            if let Some(ticket) = member.joining.take() {
                self.act(GroupAction::AnswerJoin { ticket, response });
            }
        }
    }

    /// Keeps the leader if it has joined, else makes the first that has joined the leader. Returns
    /// whether anyone has.
    fn elect_leader(&mut self) -> bool {
        let has_joined =
            |seat: &Seat| self.members.get(*seat).is_some_and(|member| member.joining.is_some());
        let mut joined = self.members.iter().map(|(seat, _)| seat).filter(has_joined);
        let elected = self.leader.filter(has_joined).or_else(|| joined.next());
        if elected.is_some() {
            self.leader = elected;
        }
        elected.is_some()
    }

    /// Removes a member and lets the others rebalance.
    pub(super) fn remove_member(&mut self, now_ms: u64, seat: Seat) {
        self.take_out(seat);
        if matches!(self.phase, Phase::Stable | Phase::CompletingRebalance) {
            self.prepare_rebalance(now_ms);
        }
    }

    /// Removes a member, answering what waits of it. If it led, the first member leads.
    pub(super) fn take_out(&mut self, seat: Seat) {
        self.answer_waiting(seat, ErrorCode::UNKNOWN_MEMBER_ID);
        self.members.remove(seat);
        if self.leader == Some(seat) {
            self.leader = self.members.iter().next().map(|(seat, _)| seat);
        }
    }
}
