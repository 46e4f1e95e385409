//! One member: joins, works until its generation is over, and does what members do that are badly programmed
//! or cut off. What it reads and commits is in `offsets.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use tidemill_kafka::messages::join_group::JoinGroupResponse;
use tidemill_kafka::{ErrorCode, KString};
use uuid::Uuid;

use super::requests::{self, SESSION_TIMEOUT_MS, Seat};
use crate::invariants::groups::{Part, Positions, is_present};
use crate::workload::{self, Clients};
use crate::world::gateway::Gateway;

const JOIN_VERSION: i16 = 7;
const SYNC_VERSION: i16 = 5;
const HEARTBEAT_VERSION: i16 = 4;
const LEAVE_VERSION: i16 = 5;

/// What a member does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    GoOn,
    /// Join again under its id.
    Rejoin,
    /// Join as somebody new.
    Forget,
}

pub(super) struct Member {
    pub(super) clients: Clients,
    pub(super) gateway: Gateway,
    /// Its id; empty until it has one.
    id: KString,
    /// Ids of topics, by name.
    pub(super) topics: BTreeMap<&'static str, Uuid>,
    /// The last generation it was in, and where it stood.
    pub(super) former: Option<(Seat, Positions)>,
}

/// Is a member again and again, until the run ends.
pub(super) async fn run(clients: Clients) {
    let mut member = Member::new(clients);
    while !member.clients.is_ending() {
        member.gateway.wait_until_up().await;
        member.pause(10, 120).await;
        if !member.knows_topics().await {
            continue;
        }
        let Some((seat, parts)) = member.join().await else { continue };
        member.commit_late(&seat).await;
        if member.take_part(&seat, &parts).await == Next::Forget {
            member.id = KString::new();
        }
    }
}

/// Joins when all others are gone, and returns once it was given everything and has committed and left.
pub(super) async fn take_over(clients: Clients) {
    let mut member = Member::new(clients);
    loop {
        member.pause(10, 100).await;
        if !member.knows_topics().await {
            continue;
        }
        let Some((seat, parts)) = member.join().await else { continue };
        let Some(mut positions) = member.start(&parts).await else { continue };
        member.read_one(&mut positions).await;
        let next = member.commit(&seat, &positions).await;
        if next == Next::GoOn && parts.len() == requests::parts().count() {
            member.leave(&seat).await;
            return;
        }
    }
}

impl Member {
    fn new(clients: Clients) -> Self {
        let gateway = clients.gateway();
        Self { clients, gateway, id: KString::new(), topics: BTreeMap::new(), former: None }
    }

    async fn pause(&self, low_ms: u64, high_ms: u64) {
        let pause = self.clients.chance.between(low_ms, high_ms);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }

    pub(super) fn note(&self, what: &str, code: Option<ErrorCode>) {
        self.clients.history.operation(what, code.map_or(u64::MAX, |code| code.0 as u64));
    }

    /// Tells a violation, if it is one.
    pub(super) fn check<T>(&self, result: Result<T, String>) -> Option<T> {
        result.map_err(|violation| self.clients.history.violation(violation)).ok()
    }

    async fn knows_topics(&mut self) -> bool {
        for (topic, _) in workload::LASTING_TOPICS {
            if self.topics.contains_key(topic) {
                continue;
            }
            let answer = self.gateway.call(&workload::requests::metadata(topic), 12).await;
            let Ok(metadata) = answer else { return false };
            if metadata.topics[0].error_code.is_error() {
                return false;
            }
            self.topics.insert(topic, metadata.topics[0].topic_id);
        }
        true
    }

    /// Joins the next generation and gets a part of it.
    async fn join(&mut self) -> Option<(Seat, Vec<Part>)> {
        let before = self.clients.groups.known();
        let answer = self.gateway.call(&requests::join(&self.id), JOIN_VERSION).await.ok();
        self.note("join", answer.as_ref().map(|answer| answer.error_code));
        let answer = answer?;
        match answer.error_code {
            ErrorCode::NONE => {}
            ErrorCode::MEMBER_ID_REQUIRED => {
                self.id = answer.member_id;
                return None;
            }
            code => {
                self.judge(code);
                return None;
            }
        }
        self.check(is_present(&before, answer.generation_id, "was joined"));
        self.id = answer.member_id.clone();
        let seat = Seat { member: self.id.clone(), generation: answer.generation_id };
        self.sync(seat, answer).await
    }

    async fn sync(&mut self, seat: Seat, joined: JoinGroupResponse) -> Option<(Seat, Vec<Part>)> {
        let members: Vec<KString> = joined.members.into_iter().map(|m| m.member_id).collect();
        let plan = requests::share_out(members);
        for (member, parts) in &plan {
            self.clients.groups.plan(seat.generation, member, parts.clone());
        }
        let before = self.clients.groups.known();
        let answer = self.gateway.call(&requests::sync(&seat, &plan), SYNC_VERSION).await.ok();
        self.note("sync", answer.as_ref().map(|answer| answer.error_code));
        let answer = answer?;
        if answer.error_code.is_error() {
            self.judge(answer.error_code);
            return None;
        }
        let parts = requests::decode(&answer.assignment);
        let ledger = &self.clients.groups;
        self.check(ledger.assigned(&before, seat.generation, &seat.member, &parts));
        if seat.generation > 1 {
            self.clients.rare_events.add("rebalanced", 1);
        }
        Some((seat, parts))
    }

    /// What a refusal means for the member. An id that is not known any more is forgotten.
    pub(super) fn judge(&mut self, code: ErrorCode) -> Next {
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID => {
                self.id = KString::new();
                Next::Forget
            }
            ErrorCode::REBALANCE_IN_PROGRESS | ErrorCode::ILLEGAL_GENERATION => Next::Rejoin,
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => Next::GoOn,
            code => {
                self.clients.history.violation(format!("a member of a group was told {code:?}"));
                Next::Forget
            }
        }
    }

    /// Reads and commits until its generation is over or it has had enough of it.
    async fn take_part(&mut self, seat: &Seat, parts: &[Part]) -> Next {
        let Some(mut positions) = self.start(parts).await else { return Next::Rejoin };
        let mut life = self.clients.lives.current().map(|life| life.number);
        while !self.clients.is_ending() {
            self.pause(20, 160).await;
            self.gateway.wait_until_up().await;
            let mut next = self.heartbeat(seat, &mut life).await;
            if next == Next::GoOn {
                self.read_one(&mut positions).await;
                if self.clients.chance.hits(400_000) {
                    next = self.commit(seat, &positions).await;
                }
            }
            self.former = Some((seat.clone(), positions.clone()));
            if next != Next::GoOn {
                return next;
            }
            match self.clients.chance.below(60) {
                0 => return self.leave(seat).await,
                1 => return self.fall_silent(seat).await,
                2 => return Next::Rejoin,
                _ => {}
            }
        }
        Next::Forget
    }

    async fn heartbeat(&mut self, seat: &Seat, life: &mut Option<u64>) -> Next {
        let before = self.clients.groups.known();
        let answer = self.gateway.call(&requests::heartbeat(seat), HEARTBEAT_VERSION).await;
        let code = answer.ok().map(|answer| answer.error_code);
        self.note("heartbeat", code);
        let Some(code) = code else { return Next::GoOn };
        if code.is_error() {
            return self.judge(code);
        }
        self.check(is_present(&before, seat.generation, "was alive"));
        let now = self.clients.lives.current().map(|life| life.number);
        if now != *life {
            self.clients.rare_events.add("generation outlived the node", 1);
            *life = now;
        }
        Next::GoOn
    }

    async fn leave(&mut self, seat: &Seat) -> Next {
        let answer = self.gateway.call(&requests::leave(seat), LEAVE_VERSION).await;
        self.note("leave", answer.ok().map(|answer| answer.error_code));
        self.clients.rare_events.add("member left", 1);
        self.pause(10, 800).await;
        Next::Forget
    }

    /// Says nothing for longer than its session lasts, and then comes back: under its old id, or as
    /// somebody who knows nothing of it.
    async fn fall_silent(&mut self, seat: &Seat) -> Next {
        self.pause(SESSION_TIMEOUT_MS, 2 * SESSION_TIMEOUT_MS).await;
        if self.clients.chance.hits(300_000) {
            return Next::Forget;
        }
        self.gateway.wait_until_up().await;
        let mut life = self.clients.lives.current().map(|life| life.number);
        let next = self.heartbeat(seat, &mut life).await;
        if next == Next::Forget {
            self.clients.rare_events.add("member expired", 1);
        }
        if next == Next::GoOn { Next::Rejoin } else { next }
    }
}
