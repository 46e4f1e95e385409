//! Replays a dialogue: lines with commands are carried out, indented lines are what came of them.
//!
//! Ids and timeouts are short: the unique part of the n-th join is `n`, `t1` names a request, `r0` a
//! record, and `now` stands still between `at` and `advance`.

use std::collections::BTreeMap;

use bytes::Bytes;
use tidemill_kafka::consumer_protocol::ConsumerProtocolSubscription;
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::Generation;
use uuid::Uuid;

use crate::groups::{Group, GroupAction, GroupLimits, Join, Leaving, RecordFailure, RecordId};
use crate::groups::{Sync, Ticket};

/// Replays the commands of `text` and returns them with their outputs.
pub(super) fn replay(text: &str) -> String {
    let mut stage = Stage::new();
    let mut transcript = String::new();
    for line in text.lines().filter(|line| !line.starts_with("  ")) {
        transcript.push_str(line);
        transcript.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let before = stage.group.state_name();
        let mut output = stage.run(line);
        output.extend(stage.carry_out());
        if stage.group.state_name() != before {
            output.push(format!("=> {}", stage.group.state_name()));
        }
        for line in output {
            transcript.push_str(&format!("  {line}\n"));
        }
    }
    transcript
}

struct Stage {
    group: Group,
    limits: GroupLimits,
    now_ms: u64,
    joins: u128,
    asked: BTreeMap<RecordId, Generation>,
    recorded: Option<Generation>,
}

/// The words of a command: `key=value` pairs behind a verb and an object.
struct Words<'a> {
    verb: &'a str,
    object: &'a str,
    pairs: BTreeMap<&'a str, &'a str>,
}

impl<'a> Words<'a> {
    fn of(line: &'a str) -> Self {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or_default();
        let (pairs, plain): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
        let pairs = pairs.into_iter().filter_map(|pair| pair.split_once('=')).collect();
        Self { verb, object: plain.first().copied().unwrap_or_default(), pairs }
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.pairs.get(key).copied()
    }

    fn number(&self, key: &str, otherwise: i32) -> i32 {
        self.text(key).map_or(otherwise, |value| value.parse().unwrap())
    }

    fn id(&self) -> KString {
        long(self.text("id").unwrap_or_default()).into()
    }

    fn instance(&self) -> Option<KString> {
        self.text("instance").map(KString::from)
    }

    fn ticket(&self) -> Ticket {
        Ticket(self.object.trim_start_matches('t').parse().unwrap())
    }
}

impl Stage {
    fn new() -> Self {
        let limits = GroupLimits { initial_rebalance_delay_ms: 0, ..GroupLimits::default() };
        Self {
            group: Group::restore(limits, None, 0),
            limits,
            now_ms: 0,
            joins: 0,
            asked: BTreeMap::new(),
            recorded: None,
        }
    }

    fn run(&mut self, line: &str) -> Vec<String> {
        let words = Words::of(line);
        let now_ms = self.now_ms;
        match words.verb {
            "at" => self.now_ms = words.object.parse().unwrap(),
            "advance" => {
                self.now_ms = words.object.parse().unwrap();
                self.group.advance(self.now_ms);
            }
            "deadline" => return vec![format!("{:?}", self.group.next_deadline())],
            "limits" => self.set_limits(&words),
            "join" => self.join(&words),
            "sync" => self.group.handle_sync(now_ms, &sync(&words)),
            "heartbeat" => {
                let (generation, instance) = (words.number("gen", 0), words.instance());
                let id = words.id();
                let code = self.group.handle_heartbeat(now_ms, generation, &id, instance.as_ref());
                return vec![code.name().to_owned()];
            }
            "commit" => {
                let (generation, instance) = (words.number("gen", -1), words.instance());
                let id = words.id();
                let admitted =
                    self.group.handle_offset_commit(now_ms, generation, &id, instance.as_ref());
                return vec![match admitted {
                    Ok(None) => "as nobody".to_owned(),
                    Ok(Some(by)) => format!("as {} of {}", short(&by.member_id), by.generation),
                    Err(code) => code.name().to_owned(),
                }];
            }
            "leave" => return self.leave(line),
            "recorded" => self.record_ends(&words, line),
            "restore" => {
                self.group = Group::restore(self.limits, self.recorded.as_ref(), now_ms);
            }
            "show" => return self.show(),
            "delete" => return vec![code_of(self.group.handle_delete())],
            "subscribes" => return vec![format!("{:?}", self.group.subscribes_to(words.object))],
            verb => panic!("unknown command {verb}"),
        }
        Vec::new()
    }

    fn set_limits(&mut self, words: &Words<'_>) {
        let limits = &mut self.limits;
        limits.initial_rebalance_delay_ms = words.number("initial_delay", 0);
        limits.members_max = words.number("members", 2_000) as usize;
        limits.pending_members_max = words.number("pending", 2_000) as usize;
        limits.member_metadata_bytes_max = words.number("metadata", 1_000) as usize;
        limits.generation_bytes_max = words.number("generation", 10_000) as usize;
        self.group.set_limits(*limits);
    }

    fn join(&mut self, words: &Words<'_>) {
        self.joins += 1;
        let version = words.number("v", 9);
        let offers = words.text("offers").unwrap_or("range:m");
        let offers = offers.split(',').filter(|offer| !offer.is_empty()).map(|offer| {
            let (name, data) = offer.split_once(':').unwrap_or((offer, ""));
            (KString::from(name), metadata(data))
        });
        let join = Join {
            ticket: words.ticket(),
            member_id: words.id(),
            instance_id: words.instance(),
            client_id: words.text("client").unwrap_or("c").into(),
            client_host: "/127.0.0.1".into(),
            rebalance_timeout_ms: words.number("rebalance", 60_000),
            session_timeout_ms: words.number("session", 10_000),
            protocol_type: words.text("type").unwrap_or("consumer").into(),
            protocols: offers.collect(),
            unique: Uuid::from_u128(self.joins),
            requires_known_id: version >= 4 && words.instance().is_none(),
            can_skip_assignment: version >= 9,
        };
        self.group.handle_join(self.now_ms, join);
    }

    fn leave(&mut self, line: &str) -> Vec<String> {
        let leaving: Vec<Leaving> = line
            .split_whitespace()
            .skip(1)
            .map(|who| {
                let (id, instance) = who.split_once('/').unwrap_or((who, ""));
                let instance_id = Some(instance).filter(|id| !id.is_empty()).map(KString::from);
                Leaving { member_id: long(id).into(), instance_id }
            })
            .collect();
        match self.group.handle_leave(self.now_ms, &leaving) {
            Ok(codes) => codes.iter().map(|code| code.name().to_owned()).collect(),
            Err(code) => vec![format!("all {}", code.name())],
        }
    }

    fn record_ends(&mut self, words: &Words<'_>, line: &str) {
        let id = RecordId(words.object.trim_start_matches('r').parse().unwrap());
        let result = match line.split_whitespace().last() {
            Some("unavailable") => Err(RecordFailure::Unavailable),
            Some("refused") => Err(RecordFailure::Refused),
            Some("taken") => Err(RecordFailure::NotCoordinator),
            _ => Ok(()),
        };
        let generation = self.asked.remove(&id).unwrap();
        if result.is_ok() {
            self.recorded = Some(generation);
        }
        self.group.generation_recorded(self.now_ms, id, result);
    }

    fn carry_out(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for action in self.group.take_actions() {
            lines.push(describe(&action));
            if let GroupAction::Record { id, generation } = action {
                self.asked.insert(id, generation);
            }
        }
        lines
    }

    fn show(&self) -> Vec<String> {
        let group = self.group.describe();
        let head = format!("{} {}/{}", group.group_state, group.protocol_type, group.protocol_data);
        let members = group.members.iter().map(|member| {
            let instance = member.group_instance_id.as_deref().unwrap_or("-");
            let host = &member.client_host;
            format!(
                "{} instance={instance} client={} at {host} says {} has {}",
                short(&member.member_id),
                member.client_id,
                plain(&member.member_metadata),
                plain(&member.member_assignment),
            )
        });
        std::iter::once(head).chain(members).collect()
    }
}

fn sync(words: &Words<'_>) -> Sync {
    let assignments = words.text("assign").unwrap_or_default().split(',');
    let assignments = assignments.filter_map(|pair| pair.split_once(':'));
    Sync {
        ticket: words.ticket(),
        generation: words.number("gen", 0),
        member_id: words.id(),
        instance_id: words.instance(),
        protocol_type: words.text("type").map(KString::from),
        protocol_name: words.text("name").map(KString::from),
        assignments: assignments
            .map(|(id, part)| (long(id).into(), Bytes::copy_from_slice(part.as_bytes())))
            .collect(),
    }
}

fn describe(action: &GroupAction) -> String {
    match action {
        GroupAction::AnswerJoin { ticket, response } if response.error_code.is_ok() => {
            let members = response.members.iter().map(|member| {
                let instance = member.group_instance_id.as_deref();
                let instance = instance.map(|id| format!("/{id}")).unwrap_or_default();
                format!("{}{instance}:{}", short(&member.member_id), plain(&member.metadata))
            });
            format!(
                "t{} joins {} as {} led by {} in {}/{} with [{}]{}",
                ticket.0,
                response.generation_id,
                short(&response.member_id),
                short(&response.leader),
                response.protocol_type.as_deref().unwrap_or("-"),
                response.protocol_name.as_deref().unwrap_or("-"),
                members.collect::<Vec<_>>().join(" "),
                if response.skip_assignment { " skipping assignment" } else { "" },
            )
        }
        GroupAction::AnswerJoin { ticket, response } => {
            let id = short(&response.member_id);
            format!("t{} refused {} id={id}", ticket.0, response.error_code.name())
        }
        GroupAction::AnswerSync { ticket, response } if response.error_code.is_ok() => format!(
            "t{} gets {} in {}/{}",
            ticket.0,
            plain(&response.assignment),
            response.protocol_type.as_deref().unwrap_or("-"),
            response.protocol_name.as_deref().unwrap_or("-"),
        ),
        GroupAction::AnswerSync { ticket, response } => {
            format!("t{} refused {}", ticket.0, response.error_code.name())
        }
        GroupAction::Record { id, generation } => {
            let members = generation.members.iter().map(|member| {
                format!("{}:{}", short(&member.member_id), plain(&member.assignment))
            });
            format!(
                "record r{} of {} led by {} in {}/{} with [{}]",
                id.0,
                generation.generation,
                short(generation.leader.as_deref().unwrap_or("-")),
                generation.protocol_type,
                generation.protocol.as_deref().unwrap_or("-"),
                members.collect::<Vec<_>>().join(" "),
            )
        }
    }
}

fn code_of(result: Result<(), ErrorCode>) -> String {
    result.err().unwrap_or_default().name().to_owned()
}

const ZEROS: &str = "00000000-0000-0000-0000-00000000000";

/// `a-1` for the id that the first join of client `a` gets.
fn short(id: &str) -> String {
    id.replace(ZEROS, "")
}

fn long(id: &str) -> String {
    match id.rsplit_once('-') {
        Some((stem, number)) => format!("{stem}-{ZEROS}{number}"),
        None => id.to_owned(),
    }
}

/// `topics(a+b)` is a consumer's subscription, all else itself.
fn metadata(text: &str) -> Bytes {
    let topics = text.strip_prefix("topics(").and_then(|rest| rest.strip_suffix(')'));
    let Some(topics) = topics else { return Bytes::copy_from_slice(text.as_bytes()) };
    let subscription = ConsumerProtocolSubscription {
        topics: topics.split('+').map(KString::from).collect(),
        ..ConsumerProtocolSubscription::default()
    };
    subscription.to_bytes(0).unwrap()
}

fn plain(bytes: &Bytes) -> String {
    match ConsumerProtocolSubscription::from_bytes(bytes.clone()) {
        Ok(subscription) => {
            let topics: Vec<&str> = subscription.topics.iter().map(KString::as_str).collect();
            format!("topics({})", topics.join("+"))
        }
        Err(_) if bytes.is_empty() => "nothing".to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
