//! Groups: claims, generations, offsets.

use bytes::Bytes;
use tidemill_base::{
    BrokerEpoch, BrokerId, GroupEpoch, GroupGeneration, LeaderEpoch, Offset, PartitionIndex,
};

use crate::command::{
    ClaimGroup, CommitOffsets, Committer, CompleteGeneration, DeleteGroups, DeleteOffsets,
    DeleteTopic, ExpireOffsets, FenceBroker, Generation, Member, OffsetCommit,
};
use crate::event::Event;
use crate::harness::{BROKER, Harness};
use crate::limits::Limits;
use crate::outcome::Outcome;
use crate::plan::offsets;
use crate::refusal::Refusal;

const OTHER: BrokerId = BrokerId(2);

fn claim(cluster: &mut Harness, broker: BrokerId) -> Outcome {
    cluster.apply(ClaimGroup { group: "g".to_owned(), broker, epoch: BrokerEpoch(1) })
}

fn claimed(cluster: &mut Harness) -> GroupEpoch {
    match claim(cluster, BROKER) {
        Outcome::Claimed { epoch, .. } => epoch,
        other => panic!("{other:?}"),
    }
}

fn complete(cluster: &mut Harness, epoch: GroupEpoch, number: i32, members: &[&str]) -> Outcome {
    let members: Vec<Member> = members.iter().map(|id| member(id)).collect();
    let generation = Generation {
        generation: GroupGeneration(number),
        protocol_type: "consumer".to_owned(),
        protocol: (!members.is_empty()).then(|| "range".to_owned()),
        leader: members.first().map(|member| member.member_id.clone()),
        members,
    };
    cluster.apply(CompleteGeneration { group: "g".to_owned(), epoch, generation })
}

fn member(id: &str) -> Member {
    Member {
        member_id: id.to_owned(),
        instance_id: Some(format!("static-{id}")),
        client_id: "client".to_owned(),
        client_host: "/127.0.0.1".to_owned(),
        rebalance_timeout_ms: 300_000,
        session_timeout_ms: 45_000,
        subscription: Bytes::from_static(b"topics"),
        assignment: Bytes::from_static(b"partitions"),
    }
}

fn offset(cluster: &Harness, partition: i32, offset: i64) -> OffsetCommit {
    OffsetCommit {
        topic: cluster.topic_id("t"),
        partition: PartitionIndex(partition),
        offset: Offset(offset),
        leader_epoch: Some(LeaderEpoch(0)),
        metadata: "note".to_owned(),
    }
}

fn commit(
    cluster: &mut Harness,
    epoch: GroupEpoch,
    committer: Option<(i32, &str)>,
    offsets: Vec<OffsetCommit>,
) -> Outcome {
    let committer = committer.map(|(generation, id)| Committer {
        generation: GroupGeneration(generation),
        member_id: id.to_owned(),
    });
    cluster.apply(CommitOffsets { group: "g".to_owned(), epoch, committer, offsets })
}

fn stored(cluster: &Harness) -> Vec<(i32, i64)> {
    let group = cluster.state.group("g").expect("the group exists");
    group.offsets.iter().map(|((_, index), offset)| (index.0, offset.offset.0)).collect()
}

#[test]
fn a_group_stays_with_its_coordinator_while_that_lives() {
    let mut cluster = Harness::new();
    cluster.register(OTHER);
    let epoch = claimed(&mut cluster);
    assert_eq!(
        cluster.events(),
        [Event::GroupClaimed {
            group: "g".to_owned(),
            broker: BROKER,
            broker_epoch: BrokerEpoch(1),
            epoch,
        }]
    );
    assert_eq!(claimed(&mut cluster), epoch, "the same claim again");
    assert_eq!(cluster.events(), []);
    let held = Refusal::GroupHeld { broker: BROKER, epoch: BrokerEpoch(1) };
    assert_eq!(claim(&mut cluster, OTHER), Outcome::Refused(held));
    assert_eq!(cluster.projection.coordinator("g").map(|found| found.broker), Some(BROKER));
    complete(&mut cluster, epoch, 1, &["m"]);
    cluster.apply(FenceBroker { broker: BROKER, epoch: BrokerEpoch(1) });
    assert_eq!(cluster.projection.coordinator("g"), None);
    assert_eq!(cluster.state.groups_abandoned().collect::<Vec<_>>(), ["g"]);
    let Outcome::Claimed { epoch: next, group } = claim(&mut cluster, OTHER) else { panic!() };
    assert!(next > epoch);
    assert_eq!(group.generation_number(), GroupGeneration(1), "no rebalance is needed");
    assert_eq!(complete(&mut cluster, epoch, 2, &[]), Outcome::Refused(Refusal::CoordinatorFenced));
    let fenced = claim(&mut cluster, BROKER);
    assert_eq!(fenced, Outcome::Refused(Refusal::BrokerFenced));
}

#[test]
fn generations_rise() {
    let mut cluster = Harness::new();
    let epoch = claimed(&mut cluster);
    assert_eq!(complete(&mut cluster, epoch, 1, &["m"]), Outcome::Done);
    assert_eq!(complete(&mut cluster, epoch, 1, &["m"]), Outcome::Done, "the same again");
    let other = Outcome::Refused(Refusal::OtherGeneration(GroupGeneration(1)));
    assert_eq!(complete(&mut cluster, epoch, 1, &["n"]), other, "another instance");
    assert_eq!(complete(&mut cluster, epoch, 1, &["m", "n"]), other);
    assert_eq!(
        complete(&mut cluster, epoch, 0, &["m"]),
        Outcome::Refused(Refusal::OtherGeneration(GroupGeneration(0)))
    );
    assert_eq!(complete(&mut cluster, epoch, 3, &["m", "n"]), Outcome::Done);
    let group = cluster.state.group("g").expect("it exists");
    assert_eq!(group.empty_since, None);
    cluster.now.0 += 5;
    complete(&mut cluster, epoch, 4, &[]);
    let empty_since = Some(cluster.now);
    cluster.now.0 += 5;
    complete(&mut cluster, epoch, 5, &[]);
    assert_eq!(cluster.state.group("g").expect("it exists").empty_since, empty_since);
}

#[test]
fn a_static_member_comes_back_within_its_generation() {
    let mut cluster = Harness::new();
    cluster.topic("t", 1);
    let epoch = claimed(&mut cluster);
    complete(&mut cluster, epoch, 1, &["m", "n"]);
    let mut amended = cluster.state.group("g").expect("it exists").generation.clone().unwrap();
    amended.members[1].member_id = "n2".to_owned();
    let amend = |generation: &Generation| CompleteGeneration {
        group: "g".to_owned(),
        epoch,
        generation: generation.clone(),
    };
    assert_eq!(cluster.apply(amend(&amended)), Outcome::Done);
    assert_eq!(cluster.state.group("g").expect("it exists").generation.as_ref(), Some(&amended));
    let some = vec![offset(&cluster, 0, 5)];
    let gone = commit(&mut cluster, epoch, Some((1, "n")), some.clone());
    assert_eq!(gone, Outcome::Refused(Refusal::UnknownMember));
    assert_eq!(commit(&mut cluster, epoch, Some((1, "n2")), some), Outcome::Offsets(vec![Ok(())]));
    let refused = Outcome::Refused(Refusal::OtherGeneration(GroupGeneration(1)));
    amended.members[0].assignment = Bytes::from_static(b"others");
    assert_eq!(cluster.apply(amend(&amended)), refused, "assignments do not change");
    amended.members[0].assignment = Bytes::from_static(b"partitions");
    amended.members[1].instance_id = None;
    assert_eq!(cluster.apply(amend(&amended)), refused, "it must be the same instance");
}

#[test]
fn offsets_are_committed_by_members_of_the_generation() {
    let mut cluster = Harness::new();
    cluster.topic("t", 2);
    let epoch = claimed(&mut cluster);
    complete(&mut cluster, epoch, 3, &["m"]);
    let some = || vec![OffsetCommit { ..offset(&Harness::new_with_topic(), 0, 5) }];
    let fenced = commit(&mut cluster, GroupEpoch(epoch.0 - 1), Some((3, "m")), some());
    assert_eq!(fenced, Outcome::Refused(Refusal::CoordinatorFenced));
    let stale = commit(&mut cluster, epoch, Some((2, "m")), some());
    assert_eq!(stale, Outcome::Refused(Refusal::OtherGeneration(GroupGeneration(2))));
    let unknown = Outcome::Refused(Refusal::UnknownMember);
    assert_eq!(commit(&mut cluster, epoch, Some((3, "n")), some()), unknown);
    assert_eq!(commit(&mut cluster, epoch, None, some()), unknown, "the group has members");
    assert_eq!(stored(&cluster), []);
    let mut long = offset(&cluster, 0, 1);
    long.metadata = "x".repeat(4097);
    let mut other_topic = offset(&cluster, 0, 1);
    other_topic.topic.0 = uuid::Uuid::from_u128(99);
    let offsets = vec![
        offset(&cluster, 0, 7),
        offset(&cluster, 2, 7),
        offset(&cluster, -1, 7),
        long,
        other_topic,
    ];
    let outcome = commit(&mut cluster, epoch, Some((3, "m")), offsets);
    assert_eq!(
        outcome,
        Outcome::Offsets(vec![
            Ok(()),
            Err(Refusal::UnknownPartition),
            Err(Refusal::UnknownPartition),
            Err(Refusal::OffsetMetadata { max: 4096 }),
            Err(Refusal::UnknownTopic),
        ])
    );
    assert_eq!(stored(&cluster), [(0, 7)]);
}

impl Harness {
    fn new_with_topic() -> Self {
        let mut cluster = Self::new();
        cluster.topic("t", 2);
        cluster
    }
}

#[test]
fn a_consumer_outside_any_generation_commits_to_a_group_without_members() {
    let mut cluster = Harness::new_with_topic();
    let epoch = claimed(&mut cluster);
    let offsets = vec![offset(&cluster, 1, 9)];
    let outcome = commit(&mut cluster, epoch, None, offsets);
    assert_eq!(outcome, Outcome::Offsets(vec![Ok(())]));
    assert_eq!(stored(&cluster), [(1, 9)]);
}

#[test]
fn offsets_go_with_deletion_of_themselves_their_topic_or_their_group() {
    let mut cluster = Harness::new_with_topic();
    let epoch = claimed(&mut cluster);
    let topic = cluster.topic_id("t");
    let offsets = vec![offset(&cluster, 0, 1), offset(&cluster, 1, 2)];
    commit(&mut cluster, epoch, None, offsets);
    let partitions = vec![(topic, PartitionIndex(0)), (topic, PartitionIndex(5))];
    let group = "g".to_owned();
    let delete = DeleteOffsets { group, epoch, partitions };
    let unknown = Err(Refusal::UnknownPartition);
    assert_eq!(cluster.apply(delete), Outcome::Offsets(vec![Ok(()), unknown]));
    assert_eq!(stored(&cluster), [(1, 2)]);
    cluster.apply(DeleteTopic { topic });
    assert_eq!(stored(&cluster), []);
    complete(&mut cluster, epoch, 1, &["m"]);
    let groups = || vec!["g".to_owned(), "h".to_owned()];
    let results = vec![Err(Refusal::GroupNotEmpty), Err(Refusal::UnknownGroup)];
    assert_eq!(cluster.apply(DeleteGroups { groups: groups() }), Outcome::GroupsDeleted(results));
    complete(&mut cluster, epoch, 2, &[]);
    let results = vec![Ok(()), Err(Refusal::UnknownGroup)];
    assert_eq!(cluster.apply(DeleteGroups { groups: groups() }), Outcome::GroupsDeleted(results));
    assert_eq!(cluster.events(), [Event::GroupDeleted { group: "g".to_owned() }]);
    let gone = Outcome::Refused(Refusal::UnknownGroup);
    assert_eq!(complete(&mut cluster, epoch, 3, &["m"]), gone);
    assert!(claimed(&mut cluster) > epoch, "a claim is never reused");
}

#[test]
fn offsets_expire_when_the_group_has_been_empty_for_long() {
    let mut cluster = Harness::new_with_topic();
    let epoch = claimed(&mut cluster);
    complete(&mut cluster, epoch, 1, &["m"]);
    let offsets = vec![offset(&cluster, 0, 1), offset(&cluster, 1, 1)];
    commit(&mut cluster, epoch, Some((1, "m")), offsets);
    cluster.now.0 += 10_000;
    assert_eq!(offsets::expired(&cluster.state, cluster.now, 1000, 10), Vec::<String>::new());
    complete(&mut cluster, epoch, 2, &[]);
    cluster.now.0 += 600;
    let later = vec![offset(&cluster, 1, 2)];
    commit(&mut cluster, epoch, None, later);
    cluster.now.0 += 400;
    assert_eq!(offsets::expired(&cluster.state, cluster.now, 1000, 10), ["g"]);
    let expire = || ExpireOffsets { retention_ms: 1000, groups: vec!["g".to_owned()] };
    assert_eq!(cluster.apply(expire()), Outcome::Expired(1));
    assert_eq!(stored(&cluster), [(1, 2)]);
    cluster.now.0 += 600;
    assert_eq!(cluster.apply(expire()), Outcome::Expired(1));
    assert!(cluster.state.group("g").is_none(), "nothing is left of it");
}

#[test]
fn groups_are_bounded_in_number_and_bytes() {
    let limits = Limits { groups_max: 2, group_bytes_max: 4_000, ..Limits::default() };
    let mut cluster = Harness::with_limits(limits);
    cluster.topic("t", 2);
    let epoch = claimed(&mut cluster);
    let other =
        |name: &str| ClaimGroup { group: name.to_owned(), broker: BROKER, epoch: BrokerEpoch(1) };
    let too_long = cluster.apply(other(&"x".repeat(2_000)));
    let full = |what, max| Outcome::Refused(Refusal::Limit { what, max });
    assert_eq!(too_long, full("bytes of groups", 4_000));
    assert!(matches!(cluster.apply(other("h")), Outcome::Claimed { .. }));
    assert_eq!(cluster.apply(other("i")), full("groups", 2));
    let name = "m".repeat(4_000);
    assert_eq!(complete(&mut cluster, epoch, 1, &[&name]), full("bytes of groups", 4_000));
    let mut long = offset(&cluster, 0, 1);
    long.metadata = "x".repeat(4_000);
    let offsets = vec![offset(&cluster, 0, 1), long];
    assert_eq!(commit(&mut cluster, epoch, None, offsets), full("bytes of groups", 4_000));
    assert_eq!(stored(&cluster), [], "a commit is refused whole");
    complete(&mut cluster, epoch, 1, &["m"]);
    complete(&mut cluster, epoch, 2, &[]);
    cluster.apply(DeleteGroups { groups: vec!["g".to_owned(), "h".to_owned()] });
    assert_eq!(cluster.state.group_bytes, 0);
}

#[test]
fn a_commit_that_passes_the_limit_of_offsets_changes_nothing() {
    let mut cluster = Harness::with_limits(Limits { offsets_max: 2, ..Limits::default() });
    cluster.topic("t", 3);
    let epoch = claimed(&mut cluster);
    let committed = |partitions: &[(i32, i64)], cluster: &mut Harness| {
        let offsets = partitions.iter().map(|(index, at)| offset(cluster, *index, *at)).collect();
        commit(cluster, epoch, None, offsets)
    };
    let full = Outcome::Refused(Refusal::Limit { what: "committed offsets", max: 2 });
    assert_eq!(committed(&[(0, 1)], &mut cluster), Outcome::Offsets(vec![Ok(())]));
    assert_eq!(committed(&[(0, 2), (1, 2), (2, 2)], &mut cluster), full);
    assert_eq!(stored(&cluster), [(0, 1)]);
    let twice = committed(&[(0, 3), (1, 3), (1, 4)], &mut cluster);
    assert_eq!(twice, Outcome::Offsets(vec![Ok(()); 3]), "a partition counts once");
    assert_eq!(stored(&cluster), [(0, 3), (1, 4)]);
}

#[cfg(feature = "twins")]
#[test]
fn without_fencing_anyone_commits_offsets() {
    use tidemill_base::twins::{Twin, switch_on};
    let mut cluster = Harness::new_with_topic();
    let epoch = claimed(&mut cluster);
    complete(&mut cluster, epoch, 1, &["m"]);
    let _twin = switch_on(Twin::OffsetsNotFenced);
    let offsets = vec![offset(&cluster, 0, 1)];
    let outcome = commit(&mut cluster, GroupEpoch(0), Some((9, "n")), offsets);
    assert_eq!(outcome, Outcome::Offsets(vec![Ok(())]));
}
