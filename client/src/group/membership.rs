//! What a member of a group does next, and what an answer means to it (pure).
//!
//! The task asks [`Membership::next`] for a [`Step`], carries it out and reports what came of it.
//!
//! ```text
//! coordinator found -> (give up what is held) -> join -> [leader: assign] -> sync -> take -> stable
//!      ^                        ^                                                             |
//!      | lost, moved            | rebalance, rejoin, kicked out                               |
//!      +------------------------+-------------------------------------------------------------+
//! ```
//!
//! - Partitions are held from `take` on until they were given up; nothing is joined while they are.
//! - Partitions are *lost*, rather than given up, when the group may have gone on without the
//!   member: nothing may be committed for them.
//! - Without an answer to a heartbeat for a session timeout, the member is out, whether or not it
//!   has been told so.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tidemill_base::ErrorKind;
use tidemill_kafka::consumer_protocol::{
    ConsumerProtocolAssignment, ConsumerProtocolSubscription, PROTOCOL_TYPE, TopicPartitions,
};
use tidemill_kafka::messages::heartbeat::HeartbeatRequest;
use tidemill_kafka::messages::join_group::{
    JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse,
};
use tidemill_kafka::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use tidemill_kafka::messages::sync_group::{
    SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse,
};
use tidemill_kafka::{ErrorCode, KString};

use crate::backoff::Backoff;
use crate::error::{Error, Result};
use crate::group::assignor::{Assignments, Assignor, Member};
use crate::group::offsets::Committer;
use crate::prng::Prng;
use crate::topic_partition::TopicPartition;

/// The version in which subscriptions are written; readers of older versions skip what is new.
const SUBSCRIPTION_VERSION: i16 = 1;
/// The version in which assignments are written: all have the same fields.
const ASSIGNMENT_VERSION: i16 = 0;

/// What a membership goes by.
#[derive(Clone, Debug)]
pub(crate) struct MembershipConfig {
    pub(crate) group: String,
    pub(crate) instance_id: Option<String>,
    pub(crate) session_timeout_ms: u64,
    pub(crate) rebalance_timeout_ms: u64,
    pub(crate) heartbeat_interval_ms: u64,
    pub(crate) assignors: Vec<Assignor>,
    pub(crate) backoff: Backoff,
}

/// A thing to do.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// Wait until then.
    Wait(u64),
    /// Find the coordinator; then [`Membership::coordinator_found`] or [`Membership::unreachable`].
    FindCoordinator,
    /// Have the application give its partitions up; then [`Membership::given_up`].
    GiveUp {
        /// Whether the group may have gone on already.
        lost: bool,
    },
    /// Send [`Membership::join_request`]; then [`Membership::joined`] or
    /// [`Membership::unreachable`].
    Join,
    /// Count the partitions of these topics; then [`Membership::assign`].
    CountPartitions(Vec<Arc<str>>),
    /// Send [`Membership::sync_request`]; then [`Membership::synced`] or
    /// [`Membership::unreachable`].
    Sync,
    /// Give the application these partitions; then [`Membership::taken`].
    Take(Vec<TopicPartition>),
    /// Send [`Membership::heartbeat_request`] then; then [`Membership::beaten`] or
    /// [`Membership::unreachable`].
    Heartbeat(u64),
    /// Tell the application, and end.
    Fail(Error),
}

#[derive(Clone, PartialEq, Debug)]
enum Phase {
    /// Free to join.
    Out,
    /// Chosen to assign.
    Leading(Assignor, Vec<Member>),
    /// Joined; as leader with everyone's assignment.
    Syncing(Assignments),
    /// In, with these partitions to be taken.
    Taking(Vec<TopicPartition>),
    /// In.
    Stable,
    /// Holding partitions of a generation that is over.
    Holding { lost: bool },
    /// Never again.
    Failed(Error),
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Membership {
    config: MembershipConfig,
    topics: Vec<Arc<str>>,
    phase: Phase,
    holds: bool,
    has_coordinator: bool,
    member_id: String,
    generation: i32,
    protocol: Option<String>,
    is_leader: bool,
    /// The partition counts that the leader assigned by.
    counts: BTreeMap<Arc<str>, i32>,
    last_heard_ms: u64,
    next_heartbeat_ms: u64,
    failures: u32,
    retry_at_ms: u64,
    prng: Prng,
}

impl Membership {
    /// A member-to-be that wants these topics.
    pub(crate) fn new(config: MembershipConfig, topics: Vec<Arc<str>>, seed: u64) -> Self {
        Self {
            config,
            topics,
            phase: Phase::Out,
            holds: false,
            has_coordinator: false,
            member_id: String::new(),
            generation: -1,
            protocol: None,
            is_leader: false,
            counts: BTreeMap::new(),
            last_heard_ms: 0,
            next_heartbeat_ms: 0,
            failures: 0,
            retry_at_ms: 0,
            prng: Prng::new(seed),
        }
    }

    /// As whom offsets are committed now.
    pub(crate) fn committer(&self) -> Committer {
        Committer {
            generation: self.generation,
            member_id: self.member_id.clone(),
            instance_id: self.config.instance_id.clone(),
        }
    }

    /// What is to be done now.
    pub(crate) fn next(&mut self, now_ms: u64) -> Step {
        let silent_ms = now_ms.saturating_sub(self.last_heard_ms);
        if self.phase == Phase::Stable && silent_ms >= self.config.session_timeout_ms {
            self.generation = -1;
            self.leave_generation(true);
        }
        match &self.phase {
            Phase::Failed(error) => return Step::Fail(error.clone()),
            Phase::Holding { lost } => return Step::GiveUp { lost: *lost },
            Phase::Taking(partitions) => return Step::Take(partitions.clone()),
            Phase::Leading(_, members) => return Step::CountPartitions(topics_of(members)),
            Phase::Out | Phase::Syncing(_) | Phase::Stable => {}
        }
        if self.retry_at_ms > now_ms {
            return Step::Wait(self.retry_at_ms);
        }
        if !self.has_coordinator {
            return Step::FindCoordinator;
        }
        match &self.phase {
            Phase::Syncing(_) => Step::Sync,
            Phase::Stable => Step::Heartbeat(self.next_heartbeat_ms),
            _ => Step::Join,
        }
    }

    /// The coordinator is known.
    pub(crate) fn coordinator_found(&mut self) {
        self.has_coordinator = true;
    }

    /// The coordinator could not be found or did not answer.
    pub(crate) fn unreachable(&mut self, now_ms: u64, error: &Error) {
        if !error.may_repeat(true) && error.kind() != ErrorKind::Corrupt {
            return self.fail(error.clone());
        }
        self.has_coordinator = false;
        self.back_off(now_ms);
        if matches!(self.phase, Phase::Syncing(_)) {
            self.phase = Phase::Out;
        }
    }

    /// The request to join.
    pub(crate) fn join_request(&self) -> Result<JoinGroupRequest> {
        let subscription = ConsumerProtocolSubscription {
            topics: self.topics.iter().map(|topic| KString::from(&**topic)).collect(),
            ..ConsumerProtocolSubscription::default()
        };
        let metadata = subscription
            .to_bytes(SUBSCRIPTION_VERSION)
            .map_err(|error| Error::caused(error.kind(), format!("subscribe: {error}"), error))?;
        let protocol = |assignor: &Assignor| JoinGroupRequestProtocol {
            name: KString::from_static(assignor.name()),
            metadata: metadata.clone(),
        };
        Ok(JoinGroupRequest {
            group_id: (&self.config.group).into(),
            session_timeout_ms: signed(self.config.session_timeout_ms),
            rebalance_timeout_ms: signed(self.config.rebalance_timeout_ms),
            member_id: (&self.member_id).into(),
            group_instance_id: self.config.instance_id.as_ref().map(KString::from),
            protocol_type: KString::from_static(PROTOCOL_TYPE),
            protocols: self.config.assignors.iter().map(protocol).collect(),
            reason: None,
        })
    }

    /// The answer to joining.
    pub(crate) fn joined(&mut self, now_ms: u64, response: &JoinGroupResponse) {
        let code = response.error_code;
        match code {
            ErrorCode::NONE => {}
            ErrorCode::MEMBER_ID_REQUIRED if self.member_id.is_empty() => {
                self.member_id = response.member_id.as_str().to_owned();
                return;
            }
            code => {
                self.refused(now_ms, "join", code);
                // Whatever it is, asking again at once would be asking in a tight loop.
                if self.retry_at_ms <= now_ms {
                    self.back_off(now_ms);
                }
                return;
            }
        }
        self.failures = 0;
        self.member_id = response.member_id.as_str().to_owned();
        self.generation = response.generation_id;
        self.protocol = response.protocol_name.as_ref().map(String::from);
        self.is_leader = response.leader == response.member_id;
        self.phase = Phase::Syncing(Assignments::new());
        if self.is_leader && !response.skip_assignment {
            self.phase = match self.leading(response) {
                Ok(phase) => phase,
                Err(error) => return self.fail(error),
            };
        }
    }

    fn leading(&self, response: &JoinGroupResponse) -> Result<Phase> {
        let what = format!("group {}", self.config.group);
        let name = self.protocol.as_deref().unwrap_or_default();
        let assignor = Assignor::from_name(name).ok_or_else(|| {
            let message = format!("{what} chose the assignor {name:?}, which is not known here");
            Error::new(ErrorKind::Invalid, message)
        })?;
        let mut members = Vec::with_capacity(response.members.len());
        for member in &response.members {
            let read = ConsumerProtocolSubscription::from_bytes(member.metadata.clone());
            let subscription = read.map_err(|error| {
                let message = format!("{what}: subscription of {}: {error}", &*member.member_id);
                Error::caused(error.kind(), message, error)
            })?;
            members.push(Member {
                id: member.member_id.as_str().to_owned(),
                instance_id: member.group_instance_id.as_ref().map(String::from),
                topics: subscription.topics.iter().map(|topic| Arc::from(topic.as_str())).collect(),
            });
        }
        Ok(Phase::Leading(assignor, members))
    }

    /// The leader knows how many partitions there are. Topics that do not exist are left out.
    pub(crate) fn assign(&mut self, counts: BTreeMap<Arc<str>, i32>) {
        if let Phase::Leading(assignor, members) = &self.phase {
            let assignments = assignor.assign(members, &counts);
            self.phase = Phase::Syncing(assignments);
            self.counts = counts;
        }
    }

    /// The request for the assignment.
    pub(crate) fn sync_request(&self) -> Result<SyncGroupRequest> {
        let mut assignments = Vec::new();
        if let Phase::Syncing(all) = &self.phase {
            for (member_id, partitions) in all {
                let assignment = encode_assignment(partitions)?;
                let member_id = member_id.into();
                assignments.push(SyncGroupRequestAssignment { member_id, assignment });
            }
        }
        Ok(SyncGroupRequest {
            group_id: (&self.config.group).into(),
            generation_id: self.generation,
            member_id: (&self.member_id).into(),
            group_instance_id: self.config.instance_id.as_ref().map(KString::from),
            protocol_type: Some(KString::from_static(PROTOCOL_TYPE)),
            protocol_name: self.protocol.as_ref().map(KString::from),
            assignments,
        })
    }

    /// The answer with the assignment.
    pub(crate) fn synced(&mut self, now_ms: u64, response: &SyncGroupResponse) {
        if response.error_code.is_error() {
            self.phase = Phase::Out;
            return self.refused(now_ms, "sync with", response.error_code);
        }
        match decode_assignment(response.assignment.clone()) {
            Ok(partitions) => {
                self.failures = 0;
                self.heard(now_ms);
                self.phase = Phase::Taking(partitions);
            }
            Err(error) => self.fail(error.during(format!("group {}", self.config.group))),
        }
    }

    /// The application has its partitions.
    pub(crate) fn taken(&mut self) {
        if matches!(self.phase, Phase::Taking(_)) {
            self.phase = Phase::Stable;
            self.holds = true;
        }
    }

    /// The request that says that the member lives.
    pub(crate) fn heartbeat_request(&self) -> HeartbeatRequest {
        HeartbeatRequest {
            group_id: (&self.config.group).into(),
            generation_id: self.generation,
            member_id: (&self.member_id).into(),
            group_instance_id: self.config.instance_id.as_ref().map(KString::from),
        }
    }

    /// The answer to a heartbeat.
    pub(crate) fn beaten(&mut self, now_ms: u64, code: ErrorCode) {
        match code {
            ErrorCode::NONE => {
                self.failures = 0;
                self.heard(now_ms);
            }
            ErrorCode::REBALANCE_IN_PROGRESS => {
                self.heard(now_ms);
                self.leave_generation(false);
            }
            code => self.refused(now_ms, "stay in", code),
        }
    }

    /// The application has given up its partitions.
    pub(crate) fn given_up(&mut self) {
        self.holds = false;
        if matches!(self.phase, Phase::Holding { .. }) {
            self.phase = Phase::Out;
        }
    }

    /// The application wants other topics.
    pub(crate) fn resubscribe(&mut self, topics: Vec<Arc<str>>) {
        if self.topics != topics {
            self.topics = topics;
            self.rejoin();
        }
    }

    /// The leader sees that a topic has another number of partitions than it assigned by.
    pub(crate) fn recount(&mut self, count: impl Fn(&Arc<str>) -> Option<i32>) {
        let differs = |(topic, assigned): (&Arc<str>, &i32)| {
            count(topic).is_some_and(|counted| counted != *assigned)
        };
        if self.phase == Phase::Stable && self.is_leader && self.counts.iter().any(differs) {
            self.rejoin();
        }
    }

    fn rejoin(&mut self) {
        match self.phase {
            Phase::Stable | Phase::Taking(_) => self.leave_generation(false),
            Phase::Leading(..) | Phase::Syncing(_) => self.phase = Phase::Out,
            Phase::Out | Phase::Holding { .. } | Phase::Failed(_) => {}
        }
    }

    /// The request to leave; `None` if there is nothing to leave. A static member stays until its
    /// session times out, so that it finds its partitions again.
    pub(crate) fn leave_request(&self) -> Option<LeaveGroupRequest> {
        if self.member_id.is_empty() || self.config.instance_id.is_some() {
            return None;
        }
        Some(LeaveGroupRequest {
            group_id: (&self.config.group).into(),
            member_id: (&self.member_id).into(),
            members: vec![MemberIdentity {
                member_id: (&self.member_id).into(),
                ..MemberIdentity::default()
            }],
        })
    }

    /// The member has left, because its application did not poll.
    pub(crate) fn left(&mut self) {
        self.member_id.clear();
        self.generation = -1;
        self.leave_generation(true);
    }

    fn heard(&mut self, now_ms: u64) {
        self.last_heard_ms = now_ms;
        self.next_heartbeat_ms = now_ms + self.config.heartbeat_interval_ms;
    }

    fn back_off(&mut self, now_ms: u64) {
        self.failures += 1;
        self.retry_at_ms = now_ms + self.config.backoff.wait_ms(self.failures, &mut self.prng);
    }

    /// The generation is over for this member.
    fn leave_generation(&mut self, lost: bool) {
        self.is_leader = false;
        self.phase = if self.holds { Phase::Holding { lost } } else { Phase::Out };
    }

    fn refused(&mut self, now_ms: u64, doing: &str, code: ErrorCode) {
        match code {
            ErrorCode::UNKNOWN_MEMBER_ID => {
                self.member_id.clear();
                self.generation = -1;
                self.leave_generation(true);
            }
            ErrorCode::ILLEGAL_GENERATION => {
                self.generation = -1;
                self.leave_generation(true);
            }
            ErrorCode::REBALANCE_IN_PROGRESS => self.leave_generation(false),
            ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE => {
                self.has_coordinator = false;
                self.back_off(now_ms);
            }
            code if code.is_retriable() => self.back_off(now_ms),
            code => {
                let what = format!("{doing} group {}", self.config.group);
                self.fail(Error::answered(what, code));
            }
        }
    }

    fn fail(&mut self, error: Error) {
        self.phase = Phase::Failed(error);
    }
}

fn topics_of(members: &[Member]) -> Vec<Arc<str>> {
    let topics: std::collections::BTreeSet<&Arc<str>> =
        members.iter().flat_map(|member| &member.topics).collect();
    topics.into_iter().cloned().collect()
}

fn encode_assignment(partitions: &[TopicPartition]) -> Result<Bytes> {
    let mut topics: BTreeMap<&Arc<str>, Vec<i32>> = BTreeMap::new();
    for partition in partitions {
        topics.entry(&partition.topic).or_default().push(partition.partition.0);
    }
    let assigned_partitions = topics
        .into_iter()
        .map(|(topic, partitions)| TopicPartitions { topic: (&**topic).into(), partitions });
    let assignment = ConsumerProtocolAssignment {
        assigned_partitions: assigned_partitions.collect(),
        user_data: None,
    };
    assignment
        .to_bytes(ASSIGNMENT_VERSION)
        .map_err(|error| Error::caused(error.kind(), format!("assign: {error}"), error))
}

/// No bytes are an assignment of nothing.
fn decode_assignment(bytes: Bytes) -> Result<Vec<TopicPartition>> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let assignment = ConsumerProtocolAssignment::from_bytes(bytes)
        .map_err(|error| Error::caused(error.kind(), format!("assignment: {error}"), error))?;
    let mut partitions = Vec::new();
    for topic in &assignment.assigned_partitions {
        let name: Arc<str> = Arc::from(topic.topic.as_str());
        let of_topic = topic.partitions.iter();
        partitions.extend(of_topic.map(|index| TopicPartition::new(name.clone(), *index)));
    }
    Ok(partitions)
}

fn signed(ms: u64) -> i32 {
    i32::try_from(ms).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod membership_test;
