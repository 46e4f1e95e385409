//! What happens when nothing is heard: sessions, rebalances and waits end.

use super::group::Group;
use super::member::Member;
use super::phase::Phase;
use super::record::InFlight;

impl Group {
    /// When [`advance`](Self::advance) may have something to do next, in milliseconds; `None` while
    /// there is nothing to wait for but requests and results of records.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        let rebalance = match self.phase {
            Phase::PreparingRebalance { deadline_ms, .. } => Some(deadline_ms),
            _ => None,
        };
        let sessions = self.members.iter().map(|(_, member)| member);
        let sessions =
            sessions.filter(|member| !member.is_waiting()).map(|member| member.expires_at_ms).min();
        let sync = self.sync_deadline_ms.filter(|_| self.someone_has_not_synced());
        let pending = self.pending.values().copied().min();
        let deadlines = [rebalance, sessions, sync, pending, self.record_retry_at_ms];
        deadlines.into_iter().flatten().min()
    }

    /// Does what is due at `now_ms`.
    pub fn advance(&mut self, now_ms: u64) {
        self.pending.retain(|_, expires_at_ms| *expires_at_ms > now_ms);
        self.end_sessions(now_ms);
        self.end_syncs(now_ms);
        if self.record_retry_at_ms.is_some_and(|at_ms| at_ms <= now_ms) {
            self.record_retry_at_ms = None;
            if self.phase == Phase::Empty {
                self.record(InFlight::Emptied { generation: self.generation });
            }
        }
        self.advance_rebalance(now_ms);
    }

    fn end_sessions(&mut self, now_ms: u64) {
        let has_ended = |member: &Member| !member.is_waiting() && member.expires_at_ms <= now_ms;
        for seat in self.members.seats_where(has_ended) {
            // Removing another may have answered this one and begun its session anew.
            if self.members.get(seat).is_some_and(has_ended) {
                self.remove_member(now_ms, seat);
            }
        }
    }

    /// Removes the members that took note of the generation and never asked for their part of it.
    fn end_syncs(&mut self, now_ms: u64) {
        if self.sync_deadline_ms.is_none_or(|deadline_ms| deadline_ms > now_ms) {
            return;
        }
        self.sync_deadline_ms = None;
        if !matches!(self.phase, Phase::CompletingRebalance | Phase::Stable) {
            return;
        }
        for seat in self.members.seats_where(|member| !member.has_synced) {
            self.remove_member(now_ms, seat);
        }
    }

    fn someone_has_not_synced(&self) -> bool {
        self.members.iter().any(|(_, member)| !member.has_synced)
    }
}
