//! What a member does next, by exact steps.

use tidemill_kafka::messages::join_group::JoinGroupResponseMember;

use super::*;

fn membership() -> Membership {
    let config = MembershipConfig {
        group: "g".to_owned(),
        instance_id: None,
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 60_000,
        heartbeat_interval_ms: 1_000,
        assignors: vec![Assignor::Range, Assignor::RoundRobin],
        backoff: Backoff { initial_ms: 100, max_ms: 100 },
    };
    Membership::new(config, vec!["t".into()], 1)
}

fn t(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn refused(error_code: ErrorCode) -> JoinGroupResponse {
    JoinGroupResponse { error_code, ..JoinGroupResponse::default() }
}

/// The answer to joining as the leader of two members.
fn leading(membership: &Membership) -> JoinGroupResponse {
    let metadata = membership.join_request().unwrap().protocols[0].metadata.clone();
    let member = |id: &str| JoinGroupResponseMember {
        member_id: id.into(),
        group_instance_id: None,
        metadata: metadata.clone(),
    };
    JoinGroupResponse {
        generation_id: 4,
        protocol_name: Some("range".into()),
        leader: "me".into(),
        member_id: "me".into(),
        members: vec![member("me"), member("you")],
        ..JoinGroupResponse::default()
    }
}

fn following() -> JoinGroupResponse {
    JoinGroupResponse {
        generation_id: 4,
        protocol_name: Some("range".into()),
        leader: "you".into(),
        member_id: "me".into(),
        ..JoinGroupResponse::default()
    }
}

fn assigned(partitions: &[TopicPartition]) -> SyncGroupResponse {
    let assignment = encode_assignment(partitions).unwrap();
    SyncGroupResponse { assignment, ..SyncGroupResponse::default() }
}

/// A follower in generation 4 that holds partition 0 since time 0.
fn stable() -> Membership {
    let mut membership = membership();
    membership.coordinator_found();
    membership.joined(0, &following());
    membership.synced(0, &assigned(&[t(0)]));
    membership.taken();
    assert_eq!(membership.next(0), Step::Heartbeat(1_000));
    membership
}

#[test]
fn a_follower_joins_syncs_takes_and_beats() {
    let mut membership = membership();
    assert_eq!(membership.next(0), Step::FindCoordinator);
    membership.coordinator_found();
    assert_eq!(membership.next(0), Step::Join);
    membership.joined(0, &following());
    assert_eq!(membership.next(0), Step::Sync);
    assert!(membership.sync_request().unwrap().assignments.is_empty());
    membership.synced(5, &assigned(&[t(0), t(2)]));
    assert_eq!(membership.next(5), Step::Take(vec![t(0), t(2)]));
    membership.taken();
    assert_eq!(membership.next(5), Step::Heartbeat(1_005));
    membership.beaten(1_010, ErrorCode::NONE);
    assert_eq!(membership.next(1_010), Step::Heartbeat(2_010));
    let committer = membership.committer();
    assert_eq!((committer.generation, committer.member_id.as_str()), (4, "me"));
}

#[test]
fn the_request_to_join_names_the_topics_and_the_assignors_best_first() {
    let request = membership().join_request().unwrap();
    let names: Vec<&str> = request.protocols.iter().map(|protocol| &*protocol.name).collect();
    assert_eq!(names, ["range", "roundrobin"]);
    let subscription =
        ConsumerProtocolSubscription::from_bytes(request.protocols[0].metadata.clone()).unwrap();
    assert_eq!(subscription.topics, ["t"]);
    assert_eq!((request.session_timeout_ms, request.rebalance_timeout_ms), (10_000, 60_000));
}

#[test]
fn the_leader_counts_partitions_and_hands_in_everyones_assignment() {
    let mut membership = membership();
    membership.coordinator_found();
    let response = leading(&membership);
    membership.joined(0, &response);
    assert_eq!(membership.next(0), Step::CountPartitions(vec!["t".into()]));
    membership.assign(BTreeMap::from([("t".into(), 3)]));
    assert_eq!(membership.next(0), Step::Sync);
    let request = membership.sync_request().unwrap();
    let decoded: Vec<(String, Vec<TopicPartition>)> = request
        .assignments
        .iter()
        .map(|one| {
            let id = String::from(&one.member_id);
            (id, decode_assignment(one.assignment.clone()).unwrap())
        })
        .collect();
    let expected = [("me".to_owned(), vec![t(0), t(1)]), ("you".to_owned(), vec![t(2)])];
    assert_eq!(decoded, expected);
}

#[test]
fn a_new_member_joins_again_with_the_id_that_it_is_given() {
    let mut membership = membership();
    membership.coordinator_found();
    let response = JoinGroupResponse {
        error_code: ErrorCode::MEMBER_ID_REQUIRED,
        member_id: "given".into(),
        ..JoinGroupResponse::default()
    };
    membership.joined(0, &response);
    assert_eq!(membership.next(0), Step::Join);
    assert_eq!(membership.join_request().unwrap().member_id, "given");
    // A broker that never stops asking for it is not asked in a tight loop.
    membership.joined(0, &response);
    assert!(matches!(membership.next(0), Step::Fail(_) | Step::Wait(_)));
}

#[test]
fn a_rebalance_has_the_partitions_given_up_before_joining_again() {
    let mut membership = stable();
    membership.beaten(1_000, ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(membership.next(1_000), Step::GiveUp { lost: false });
    membership.given_up();
    assert_eq!(membership.next(1_000), Step::Join);
    assert_eq!(membership.join_request().unwrap().member_id, "me");
}

#[test]
fn a_member_that_was_thrown_out_has_lost_its_partitions_and_its_id() {
    let mut membership = stable();
    membership.beaten(1_000, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(membership.next(1_000), Step::GiveUp { lost: true });
    membership.given_up();
    assert_eq!(membership.next(1_000), Step::Join);
    assert_eq!(membership.join_request().unwrap().member_id, "");

    let mut membership = stable();
    membership.beaten(1_000, ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(membership.next(1_000), Step::GiveUp { lost: true });
    assert_eq!(membership.join_request().unwrap().member_id, "me");
}

#[test]
fn a_coordinator_that_moved_is_found_again_without_a_rebalance() {
    let mut membership = stable();
    membership.beaten(1_000, ErrorCode::NOT_COORDINATOR);
    let Step::Wait(until_ms) = membership.next(1_000) else { panic!("no wait") };
    assert!((1_080..=1_120).contains(&until_ms));
    assert_eq!(membership.next(1_120), Step::FindCoordinator);
    membership.coordinator_found();
    assert_eq!(membership.next(1_120), Step::Heartbeat(1_000));
}

#[test]
fn silence_for_a_session_timeout_loses_the_partitions() {
    let mut membership = stable();
    let lost = Error::new(ErrorKind::Ambiguous, "the connection broke");
    membership.unreachable(9_000, &lost);
    assert!(matches!(membership.next(9_999), Step::FindCoordinator));
    assert_eq!(membership.next(10_000), Step::GiveUp { lost: true });
}

#[test]
fn a_lost_answer_to_syncing_means_joining_again() {
    let mut membership = membership();
    membership.coordinator_found();
    membership.joined(0, &following());
    membership.unreachable(0, &Error::new(ErrorKind::Ambiguous, "the connection broke"));
    assert_eq!(membership.next(200), Step::FindCoordinator);
    membership.coordinator_found();
    assert_eq!(membership.next(200), Step::Join);
}

#[test]
fn what_cannot_pass_ends_the_membership() {
    for code in [ErrorCode::INCONSISTENT_GROUP_PROTOCOL, ErrorCode::GROUP_AUTHORIZATION_FAILED] {
        let mut membership = membership();
        membership.coordinator_found();
        membership.joined(0, &refused(code));
        assert!(matches!(membership.next(0), Step::Fail(error) if error.code() == Some(code)));
    }
    let mut membership = stable();
    membership.beaten(1_000, ErrorCode::FENCED_INSTANCE_ID);
    let step = membership.next(1_000);
    assert!(matches!(step, Step::Fail(error) if error.kind() == ErrorKind::Fenced));
}

#[test]
fn an_assignor_that_is_not_known_here_ends_the_membership_of_the_leader() {
    let mut membership = membership();
    membership.coordinator_found();
    let chosen = Some("sticky".into());
    let response = JoinGroupResponse { protocol_name: chosen, ..leading(&membership) };
    membership.joined(0, &response);
    let step = membership.next(0);
    assert!(matches!(step, Step::Fail(error) if error.to_string().contains("sticky")));
}

#[test]
fn other_topics_and_more_partitions_mean_joining_again() {
    let mut membership = stable();
    membership.resubscribe(vec!["t".into()]);
    assert_eq!(membership.next(0), Step::Heartbeat(1_000));
    membership.resubscribe(vec!["t".into(), "u".into()]);
    assert_eq!(membership.next(0), Step::GiveUp { lost: false });

    let mut leader = self::membership();
    leader.coordinator_found();
    let response = leading(&leader);
    leader.joined(0, &response);
    leader.assign(BTreeMap::from([("t".into(), 3)]));
    leader.synced(0, &assigned(&[t(0)]));
    leader.taken();
    leader.recount(|_| Some(3));
    leader.recount(|_| None);
    assert_eq!(leader.next(0), Step::Heartbeat(1_000));
    leader.recount(|_| Some(4));
    assert_eq!(leader.next(0), Step::GiveUp { lost: false });
}

#[test]
fn only_dynamic_members_that_have_an_id_leave() {
    assert_eq!(membership().leave_request(), None);
    let mut membership = stable();
    let request = membership.leave_request().unwrap();
    assert_eq!((request.member_id, request.members.len()), ("me".into(), 1));
    membership.left();
    assert_eq!(membership.next(0), Step::GiveUp { lost: true });
    assert_eq!(membership.leave_request(), None);
    membership.config.instance_id = Some("i".to_owned());
    membership.member_id = "me".to_owned();
    assert_eq!(membership.leave_request(), None);
}

#[test]
fn no_bytes_are_an_assignment_of_nothing() {
    assert_eq!(decode_assignment(Bytes::new()), Ok(Vec::new()));
    assert!(decode_assignment(Bytes::from_static(&[0])).is_err());
}
