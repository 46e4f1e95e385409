//! The members of a group in the order of their joining, found by id and by instance id.
//!
//! Invariant: `by_id` and `by_instance` name exactly the members of `seats`.

use std::collections::BTreeMap;

use tidemill_kafka::KString;

use super::member::Member;

/// A member's place in the order of joining. A static member that comes back under a new id keeps it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Seat(u64);

#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    seats: BTreeMap<Seat, Member>,
    by_id: BTreeMap<KString, Seat>,
    by_instance: BTreeMap<KString, Seat>,
    next: u64,
}

impl Members {
    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// In the order of joining.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Seat, &Member)> {
        self.seats.iter().map(|(seat, member)| (*seat, member))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (Seat, &mut Member)> {
        self.seats.iter_mut().map(|(seat, member)| (*seat, member))
    }

    /// The seats of the members for which `wanted` holds.
    pub(super) fn seats_where(&self, wanted: impl Fn(&Member) -> bool) -> Vec<Seat> {
        self.iter().filter(|(_, member)| wanted(member)).map(|(seat, _)| seat).collect()
    }

    pub(super) fn seat(&self, id: &str) -> Option<Seat> {
        self.by_id.get(id).copied()
    }

    pub(super) fn seat_of_instance(&self, instance_id: &str) -> Option<Seat> {
        self.by_instance.get(instance_id).copied()
    }

    pub(super) fn get(&self, seat: Seat) -> Option<&Member> {
        self.seats.get(&seat)
    }

    pub(super) fn get_mut(&mut self, seat: Seat) -> Option<&mut Member> {
        self.seats.get_mut(&seat)
    }

    /// Seats a member last.
    pub(super) fn add(&mut self, member: Member) -> Seat {
        let seat = Seat(self.next);
        self.next += 1;
        self.by_id.insert(member.id.clone(), seat);
        if let Some(instance_id) = &member.instance_id {
            self.by_instance.insert(instance_id.clone(), seat);
        }
        self.seats.insert(seat, member);
        seat
    }

    pub(super) fn remove(&mut self, seat: Seat) -> Option<Member> {
        let member = self.seats.remove(&seat)?;
        self.by_id.remove(&member.id);
        if let Some(instance_id) = &member.instance_id {
            self.by_instance.remove(instance_id);
        }
        Some(member)
    }

    /// Gives a member another id. Returns the old one.
    pub(super) fn rename(&mut self, seat: Seat, id: KString) -> Option<KString> {
        let member = self.seats.get_mut(&seat)?;
        let old = std::mem::replace(&mut member.id, id.clone());
        self.by_id.remove(&old);
        self.by_id.insert(id, seat);
        Some(old)
    }

    /// The longest rebalance timeout of the members, in milliseconds.
    pub(super) fn rebalance_timeout_max_ms(&self) -> u64 {
        self.seats.values().map(|member| member.rebalance_timeout_ms).max().unwrap_or(0)
    }

    /// Whether every member offers the protocol.
    pub(super) fn all_offer(&self, protocol: &str) -> bool {
        self.seats.values().all(|member| member.protocols.has(protocol))
    }

    /// The protocol that most members prefer among those that all offer; of several, the one that an
    /// earlier member prefers.
    pub(super) fn elect_protocol(&self) -> Option<KString> {
        let first = self.seats.values().next()?;
        let candidates: Vec<&KString> =
            first.protocols.names().filter(|name| self.all_offer(name)).collect();
        let mut votes: Vec<(&KString, usize)> = Vec::new();
        for member in self.seats.values() {
            let mut preferred = member.protocols.names();
            let Some(choice) = preferred.find(|name| candidates.contains(name)) else { continue };
            match votes.iter_mut().find(|(name, _)| *name == choice) {
                Some((_, count)) => *count += 1,
                None => votes.push((choice, 1)),
            }
        }
        let most = votes.iter().map(|(_, count)| *count).max()?;
        votes.iter().find(|(_, count)| *count == most).map(|(name, _)| (*name).clone())
    }

    pub(super) fn bytes(&self) -> usize {
        self.seats.values().map(Member::bytes).sum()
    }
}
