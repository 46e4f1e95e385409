//! Random clients that join, sync, send heartbeats, leave, crash and come back, while records
//! succeed, fail and lag and time passes. Goal: whatever they do, one generation has one leader, a
//! member gets exactly the part that was recorded for it, and nobody waits for ever.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use tidemill_base::GroupGeneration;
use tidemill_kafka::messages::join_group::JoinGroupResponse;
use tidemill_kafka::messages::sync_group::SyncGroupResponse;
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::Generation;
use uuid::Uuid;

use crate::groups::{Group, GroupAction, GroupLimits, Join, Leaving, RecordFailure, RecordId};
use crate::groups::{Sync, Ticket};

const CLIENTS: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    /// The client sends what it should send next, if it does not wait.
    GoOn(usize),
    /// The client joins again, although it might wait.
    Rejoin(usize),
    Heartbeat(usize),
    Leave(usize),
    /// The process dies; another starts in its place and knows nothing.
    Crash(usize),
    /// The oldest record ends.
    Recorded(bool),
    /// Time passes, in milliseconds.
    Wait(u64),
    /// Another coordinator takes over from what is recorded.
    TakeOver,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let client = 0..CLIENTS;
    let step = prop_oneof![
        10 => client.clone().prop_map(Step::GoOn),
        1 => client.clone().prop_map(Step::Rejoin),
        3 => client.clone().prop_map(Step::Heartbeat),
        1 => client.clone().prop_map(Step::Leave),
        1 => client.prop_map(Step::Crash),
        4 => (0..8).prop_map(|chance| Step::Recorded(chance > 0)),
        2 => (1_u64..12_000).prop_map(Step::Wait),
        1 => Just(Step::TakeOver),
    ];
    prop::collection::vec(step, 1..200)
}

#[derive(Clone, Debug, Default)]
struct Client {
    id: KString,
    /// The generation it has joined, and whether it leads it.
    joined: Option<(i32, Option<Vec<KString>>)>,
    has_assignment: bool,
    waits: Option<Ticket>,
}

#[derive(Clone, Debug)]
struct Asked {
    client: usize,
    id: KString,
    generation: i32,
}

struct World {
    group: Group,
    now_ms: u64,
    clients: Vec<Client>,
    tickets: u64,
    asked: BTreeMap<Ticket, Asked>,
    records: BTreeMap<RecordId, Generation>,
    /// What the metadata holds, as every generation's last record.
    recorded: BTreeMap<i32, Generation>,
    leaders: BTreeMap<i32, KString>,
}

impl World {
    fn new(initial_rebalance_delay_ms: i32) -> Self {
        let limits = GroupLimits { initial_rebalance_delay_ms, ..GroupLimits::default() };
        Self {
            group: Group::restore(limits, None, 0),
            now_ms: 0,
            clients: vec![Client::default(); CLIENTS],
            tickets: 0,
            asked: BTreeMap::new(),
            records: BTreeMap::new(),
            recorded: BTreeMap::new(),
            leaders: BTreeMap::new(),
        }
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::GoOn(client) => self.go_on(client),
            Step::Rejoin(client) => self.join(client),
            Step::Heartbeat(client) => self.heartbeat(client),
            Step::Leave(client) => {
                let leaving = Leaving {
                    member_id: self.clients[client].id.clone(),
                    instance_id: instance(client),
                };
                self.group.handle_leave(self.now_ms, &[leaving]).unwrap();
                self.clients[client] = Client::default();
            }
            Step::Crash(client) => self.clients[client] = Client::default(),
            Step::Recorded(succeeds) => self.end_record(succeeds),
            Step::Wait(ms) => {
                self.now_ms += ms;
                self.group.advance(self.now_ms);
                assert!(self.group.next_deadline().is_none_or(|at_ms| at_ms > self.now_ms));
            }
            Step::TakeOver => self.take_over(),
        }
        self.carry_out();
        let waits = self.asked.values().len() > 0;
        let will_move = self.group.next_deadline().is_some() || !self.records.is_empty();
        assert!(!waits || will_move, "somebody waits for ever");
    }

    fn go_on(&mut self, client: usize) {
        let state = &self.clients[client];
        match (&state.waits, &state.joined) {
            (Some(_), _) => {}
            (None, None) => self.join(client),
            (None, Some(_)) if state.has_assignment => self.heartbeat(client),
            (None, Some(_)) => self.sync(client),
        }
    }

    fn ask(&mut self, client: usize, generation: i32) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let id = self.clients[client].id.clone();
        self.asked.insert(ticket, Asked { client, id, generation });
        self.clients[client].waits = Some(ticket);
        ticket
    }

    fn join(&mut self, client: usize) {
        let ticket = self.ask(client, -1);
        self.clients[client].joined = None;
        let join = Join {
            ticket,
            member_id: self.clients[client].id.clone(),
            instance_id: instance(client),
            client_id: name(client).into(),
            client_host: "/::1".into(),
            rebalance_timeout_ms: 15_000,
            session_timeout_ms: 10_000,
            protocol_type: "consumer".into(),
            protocols: vec![("range".into(), Bytes::from_static(b"m"))],
            unique: Uuid::from_u128(self.tickets.into()),
            requires_known_id: client == 1,
            can_skip_assignment: client == 3,
        };
        self.group.handle_join(self.now_ms, join);
    }

    fn sync(&mut self, client: usize) {
        let Some((generation, led)) = self.clients[client].joined.clone() else { return };
        let ticket = self.ask(client, generation);
        let part = |id: &KString| Bytes::from(format!("{id} in {generation} by {}", ticket.0));
        let assignments = led.iter().flatten().map(|id| (id.clone(), part(id))).collect();
        let sync = Sync {
            ticket,
            generation,
            member_id: self.clients[client].id.clone(),
            instance_id: instance(client),
            protocol_type: None,
            protocol_name: None,
            assignments,
        };
        self.group.handle_sync(self.now_ms, &sync);
    }

    fn heartbeat(&mut self, client: usize) {
        let state = &self.clients[client];
        let Some((generation, _)) = state.joined else { return };
        let instance_id = instance(client);
        let code =
            self.group.handle_heartbeat(self.now_ms, generation, &state.id, instance_id.as_ref());
        self.learn(client, code);
    }

    /// What a client makes of a code.
    fn learn(&mut self, client: usize, code: ErrorCode) {
        let state = &mut self.clients[client];
        match code {
            ErrorCode::NONE => return,
            ErrorCode::UNKNOWN_MEMBER_ID | ErrorCode::FENCED_INSTANCE_ID => {
                state.id = KString::new();
            }
            _ => {}
        }
        state.joined = None;
        state.has_assignment = false;
    }

    fn end_record(&mut self, succeeds: bool) {
        let Some((id, generation)) = self.records.pop_first() else { return };
        let result = if succeeds { Ok(()) } else { Err(RecordFailure::Unavailable) };
        if succeeds {
            let number = generation.generation.0;
            let newest = self.recorded.last_key_value().map_or(0, |(number, _)| *number);
            assert!(number >= newest, "generations are recorded in order");
            self.recorded.insert(number, generation);
        }
        self.group.generation_recorded(self.now_ms, id, result);
    }

    fn take_over(&mut self) {
        self.group.close(ErrorCode::NOT_COORDINATOR);
        self.carry_out();
        assert!(self.asked.is_empty(), "all that waited was answered");
        self.records.clear();
        let recorded = self.recorded.last_key_value().map(|(_, generation)| generation);
        let limits = GroupLimits { initial_rebalance_delay_ms: 0, ..GroupLimits::default() };
        self.group = Group::restore(limits, recorded, self.now_ms);
        // Generations that were never recorded are forgotten, and their numbers used again.
        let newest = self.group.generation().0;
        self.leaders.retain(|number, _| *number <= newest);
    }

    fn carry_out(&mut self) {
        for action in self.group.take_actions() {
            match action {
                GroupAction::AnswerJoin { ticket, response } => self.joined(ticket, response),
                GroupAction::AnswerSync { ticket, response } => self.synced(ticket, &response),
                GroupAction::Record { id, generation } => {
                    assert!(generation.generation >= GroupGeneration(1));
                    self.records.insert(id, generation);
                }
            }
        }
    }

    /// The request that an answer is for, and its client if that still waits for it.
    fn answered(&mut self, ticket: Ticket) -> (Asked, Option<usize>) {
        let asked = self.asked.remove(&ticket).expect("each request is answered once");
        let client = &mut self.clients[asked.client];
        let waits = client.waits == Some(ticket);
        if waits {
            client.waits = None;
        }
        let client = Some(asked.client).filter(|_| waits);
        (asked, client)
    }

    fn joined(&mut self, ticket: Ticket, response: JoinGroupResponse) {
        let (_, client) = self.answered(ticket);
        if response.error_code == ErrorCode::MEMBER_ID_REQUIRED {
            if let Some(client) = client {
                self.clients[client].id = response.member_id;
            }
            return;
        }
        if !response.error_code.is_ok() {
            if let Some(client) = client {
                self.learn(client, response.error_code);
            }
            return;
        }
        // A static member leads on under another id, so that leaders are compared by their names.
        let leader: KString = response.leader.split('-').next().unwrap().into();
        let known = self.leaders.entry(response.generation_id).or_insert_with(|| leader.clone());
        assert_eq!(*known, leader, "generation {} has one leader", response.generation_id);
        let leads = response.leader == response.member_id && !response.skip_assignment;
        let ids: Vec<KString> =
            response.members.iter().map(|member| member.member_id.clone()).collect();
        assert!(!leads || ids.contains(&response.member_id));
        if let Some(client) = client {
            let state = &mut self.clients[client];
            state.id = response.member_id;
            state.joined = Some((response.generation_id, leads.then_some(ids)));
            state.has_assignment = false;
        }
    }

    fn synced(&mut self, ticket: Ticket, response: &SyncGroupResponse) {
        let (asked, client) = self.answered(ticket);
        if response.error_code.is_ok() {
            let recorded = &self.recorded[&asked.generation];
            let member = recorded.members.iter().find(|member| asked.id == member.member_id);
            let member = member.expect("who gets an assignment is in the record");
            assert_eq!(member.assignment, response.assignment);
            if let Some(client) = client {
                self.clients[client].has_assignment = true;
            }
        } else if let Some(client) = client {
            self.learn(client, response.error_code);
        }
    }

    /// Clients stop asking, records succeed and time passes: whoever waits is answered.
    fn calm(&mut self) {
        for _ in 0..100 {
            while !self.records.is_empty() {
                self.end_record(true);
                self.carry_out();
            }
            let Some(at_ms) = self.group.next_deadline() else { break };
            self.now_ms = self.now_ms.max(at_ms);
            self.group.advance(self.now_ms);
            self.carry_out();
        }
        assert!(self.asked.is_empty(), "somebody waits for ever");
        assert_eq!(self.group.state_name(), "Empty", "sessions of silent members end");
        assert!(self.group.is_idle());
    }

    /// Clients go on, and after a while all are in one generation.
    fn settle(&mut self) {
        for _ in 0..60 {
            for client in 0..CLIENTS {
                self.run(&Step::GoOn(client));
                self.run(&Step::Recorded(true));
            }
            self.run(&Step::Wait(1_000));
        }
        let generation = self.group.generation().0;
        for client in &self.clients {
            assert!(client.has_assignment, "{client:?} of {generation}");
            assert_eq!(client.joined.as_ref().map(|(joined, _)| *joined), Some(generation));
        }
    }
}

fn name(client: usize) -> &'static str {
    ["a", "b", "i", "j"][client]
}

/// The last two clients are static members.
fn instance(client: usize) -> Option<KString> {
    (client >= 2).then(|| name(client).into())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn silent_clients_are_answered_and_removed(
        steps in steps(),
        delay_ms in prop_oneof![Just(0), Just(3_000)],
    ) {
        let mut world = World::new(delay_ms);
        steps.iter().for_each(|step| world.run(step));
        world.calm();
    }

    #[test]
    fn clients_that_go_on_meet_in_one_generation(
        steps in steps(),
        delay_ms in prop_oneof![Just(0), Just(3_000)],
    ) {
        let mut world = World::new(delay_ms);
        steps.iter().for_each(|step| world.run(step));
        world.settle();
    }
}
