//! Groups on a node: claims, waiting members, timers, records, offsets, and what a crash leaves.

use tidemill_kafka::KString;
use tidemill_kafka::messages::delete_groups::DeleteGroupsRequest;
use tidemill_kafka::messages::describe_groups::{DescribeGroupsRequest, DescribedGroup};
use tidemill_kafka::messages::find_coordinator::FindCoordinatorRequest;
use tidemill_kafka::messages::heartbeat::HeartbeatRequest;
use tidemill_kafka::messages::incremental_alter_configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest,
};
use tidemill_kafka::messages::join_group::{
    JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse,
};
use tidemill_kafka::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use tidemill_kafka::messages::list_groups::ListGroupsRequest;
use tidemill_kafka::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use tidemill_kafka::messages::offset_delete::{
    OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use tidemill_kafka::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics,
};
use tidemill_kafka::messages::sync_group::{
    SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse,
};

use super::*;

/// A member's own connection.
struct Member {
    connection: Box<dyn ServiceConnection>,
    instance_id: Option<KString>,
    id: KString,
    generation: i32,
}

impl Member {
    fn connect(client: &Client) -> Self {
        let connection = client.node.service().connect((Ipv4Addr::LOCALHOST, 2).into());
        Self { connection, instance_id: None, id: KString::new(), generation: -1 }
    }

    async fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        let client_id = KString::from("app");
        let frame = encode_request(1, Some(&client_id), request, version);
        let mut frame = frame.unwrap().to_bytes();
        frame.advance(4);
        let Dispatched::Later(answer) = self.connection.dispatch(frame) else { panic!() };
        let mut answer = answer.await.to_bytes();
        answer.advance(4);
        decode_response::<R::Response>(answer, version).unwrap().1
    }

    /// Joins, with an id in a second attempt.
    async fn join(&mut self, topics: &'static [u8]) -> JoinGroupResponse {
        loop {
            let request = JoinGroupRequest {
                group_id: "g".into(),
                session_timeout_ms: 10_000,
                rebalance_timeout_ms: 60_000,
                member_id: self.id.clone(),
                group_instance_id: self.instance_id.clone(),
                protocol_type: "consumer".into(),
                protocols: vec![JoinGroupRequestProtocol {
                    name: "range".into(),
                    metadata: Bytes::from_static(topics),
                }],
                ..JoinGroupRequest::default()
            };
            let response = self.call(&request, 9).await;
            self.id = response.member_id.clone();
            self.generation = response.generation_id;
            if response.error_code != ErrorCode::MEMBER_ID_REQUIRED {
                return response;
            }
        }
    }

    async fn sync(&mut self, assignments: &[(&KString, &'static [u8])]) -> SyncGroupResponse {
        let assignments = assignments.iter().map(|(id, part)| SyncGroupRequestAssignment {
            member_id: (*id).clone(),
            assignment: Bytes::from_static(part),
        });
        let request = SyncGroupRequest {
            group_id: "g".into(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            group_instance_id: self.instance_id.clone(),
            protocol_type: Some("consumer".into()),
            protocol_name: Some("range".into()),
            assignments: assignments.collect(),
        };
        self.call(&request, 5).await
    }

    async fn heartbeat(&mut self) -> ErrorCode {
        let request = HeartbeatRequest {
            group_id: "g".into(),
            generation_id: self.generation,
            member_id: self.id.clone(),
            group_instance_id: self.instance_id.clone(),
        };
        self.call(&request, 4).await.error_code
    }

    async fn commit(&mut self, topic: &str, partition: i32, offset: i64) -> ErrorCode {
        self.commit_all(topic, [(partition, offset, "note".into())]).await[0]
    }

    /// Commits (partition, offset, metadata), all in one request.
    async fn commit_all(
        &mut self,
        topic: &str,
        offsets: impl IntoIterator<Item = (i32, i64, String)>,
    ) -> Vec<ErrorCode> {
        let partition = |(partition_index, committed_offset, metadata): (i32, i64, String)| {
            OffsetCommitRequestPartition {
                partition_index,
                committed_offset,
                committed_metadata: Some(metadata.as_str().into()),
                ..OffsetCommitRequestPartition::default()
            }
        };
        let request = OffsetCommitRequest {
            group_id: "g".into(),
            generation_id_or_member_epoch: self.generation,
            member_id: self.id.clone(),
            group_instance_id: self.instance_id.clone(),
            topics: vec![OffsetCommitRequestTopic {
                name: topic.into(),
                partitions: offsets.into_iter().map(partition).collect(),
            }],
            ..OffsetCommitRequest::default()
        };
        let response = self.call(&request, 9).await;
        response.topics[0].partitions.iter().map(|partition| partition.error_code).collect()
    }

    async fn leave(&mut self) -> ErrorCode {
        let member = MemberIdentity { member_id: self.id.clone(), ..MemberIdentity::default() };
        let request = LeaveGroupRequest {
            group_id: "g".into(),
            members: vec![member],
            ..LeaveGroupRequest::default()
        };
        self.call(&request, 5).await.members[0].error_code
    }
}

/// A subscription to the topic `t`, in version 0.
const READS_T: &[u8] = b"\0\0\0\0\0\x01\0\x01t\xff\xff\xff\xff";

async fn describe(client: &mut Client, group: &str) -> DescribedGroup {
    let request =
        DescribeGroupsRequest { groups: vec![group.into()], ..DescribeGroupsRequest::default() };
    client.call(&request, 6).await.groups.remove(0)
}

/// (partition, offset) of everything committed by `g`.
async fn committed(client: &mut Client) -> Vec<(i32, i64)> {
    let group = OffsetFetchRequestGroup { group_id: "g".into(), ..Default::default() };
    let request = OffsetFetchRequest { groups: vec![group], ..OffsetFetchRequest::default() };
    let mut response = client.call(&request, 9).await;
    let group = response.groups.remove(0);
    assert_eq!(group.error_code, ErrorCode::NONE);
    let partitions = group.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.map(|found| (found.partition_index, found.committed_offset)).collect()
}

/// Two members in generation 1 of `g`; the first leads.
async fn two_members(client: &Client) -> (Member, Member) {
    let (mut a, mut b) = (Member::connect(client), Member::connect(client));
    let (of_a, of_b) = tokio::join!(a.join(READS_T), b.join(READS_T));
    assert_eq!((of_a.error_code, of_b.error_code), (ErrorCode::NONE, ErrorCode::NONE));
    assert_eq!((of_a.generation_id, of_b.generation_id), (1, 1));
    if of_a.leader != of_a.member_id {
        std::mem::swap(&mut a, &mut b);
    }
    let (a_id, b_id) = (a.id.clone(), b.id.clone());
    let assignments: [(&KString, &[u8]); 2] = [(&a_id, b"p0"), (&b_id, b"p1")];
    let (of_b, of_a) = tokio::join!(b.sync(&[]), a.sync(&assignments));
    assert_eq!((&of_a.assignment[..], &of_b.assignment[..]), (&b"p0"[..], &b"p1"[..]));
    (a, b)
}

#[tokio::test(start_paused = true)]
async fn members_and_offsets_outlive_the_process() {
    let disks = disks();
    let mut client = Client::start(&disks).await;
    client.create("t", 2).await;
    let (mut a, mut b) = two_members(&client).await;
    assert_eq!(a.commit("t", 0, 5).await, ErrorCode::NONE);
    assert_eq!(b.commit("t", 1, 7).await, ErrorCode::NONE);
    assert_eq!(b.commit("t", 2, 7).await, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    assert_eq!(b.commit("u", 0, 7).await, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
    client.spawn.kill().await;
    drop(client);

    let mut client = Client::start(&disks).await;
    let described = describe(&mut client, "g").await;
    assert_eq!((&*described.group_state, described.members.len()), ("Stable", 2));
    a.connection = client.node.service().connect((Ipv4Addr::LOCALHOST, 3).into());
    b.connection = client.node.service().connect((Ipv4Addr::LOCALHOST, 3).into());
    assert_eq!(a.heartbeat().await, ErrorCode::NONE);
    assert_eq!(a.commit("t", 0, 6).await, ErrorCode::NONE);
    assert_eq!(b.sync(&[]).await.assignment, &b"p1"[..]);
    assert_eq!(committed(&mut client).await, [(0, 6), (1, 7)]);
}

#[tokio::test(start_paused = true)]
async fn the_death_of_a_member_is_told_to_the_others() {
    let client = Client::start(&disks()).await;
    let (mut a, _dead) = two_members(&client).await;
    for _ in 0..4 {
        assert_eq!(a.heartbeat().await, ErrorCode::NONE);
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert_eq!(a.heartbeat().await, ErrorCode::NONE);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(a.heartbeat().await, ErrorCode::REBALANCE_IN_PROGRESS);
    let joined = a.join(READS_T).await;
    assert_eq!((joined.generation_id, joined.members.len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn abandoned_groups_find_out_that_their_members_are_gone() {
    let disks = disks();
    let client = Client::start(&disks).await;
    let _members = two_members(&client).await;
    client.spawn.kill().await;
    drop(client);
    let mut client = Client::start(&disks).await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(describe(&mut client, "g").await.group_state, "Empty");
    assert_eq!(client.node.broker().groups.len(), 0, "an idle group takes no memory");
    assert_eq!(client.node.broker().groups.approximate_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn requests_about_no_group_bring_none_into_being() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let mut member = Member::connect(&client);
    member.id = "x".into();
    member.generation = 3;
    assert_eq!(member.heartbeat().await, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(member.sync(&[]).await.error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(member.leave().await, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(member.commit("t", 0, 1).await, ErrorCode::ILLEGAL_GENERATION);
    assert_eq!(member.join(READS_T).await.error_code, ErrorCode::UNKNOWN_MEMBER_ID);
    assert_eq!(describe(&mut client, "g").await.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    let request = DeleteGroupsRequest { groups_names: vec!["g".into()] };
    let deleted = client.call(&request, 2).await.results.remove(0);
    assert_eq!(deleted.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
    assert_eq!(committed(&mut client).await, []);
    assert!(client.call(&ListGroupsRequest::default(), 5).await.groups.is_empty());
    let request = FindCoordinatorRequest {
        coordinator_keys: vec!["g".into(), "h".into()],
        ..FindCoordinatorRequest::default()
    };
    let found = client.call(&request, 6).await.coordinators;
    assert!(found.iter().all(|found| found.error_code.is_ok() && found.node_id == 1));
    assert_eq!(found.len(), 2);
}

async fn delete_offset(client: &mut Client, topic: &str) -> Result<ErrorCode, ErrorCode> {
    let request = OffsetDeleteRequest {
        group_id: "g".into(),
        topics: vec![OffsetDeleteRequestTopic {
            name: topic.into(),
            partitions: vec![OffsetDeleteRequestPartition { partition_index: 0 }],
        }],
    };
    let response = client.call(&request, 0).await;
    response.error_code.check().map(|()| response.topics[0].partitions[0].error_code)
}

#[tokio::test(start_paused = true)]
async fn what_members_use_is_not_deleted() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    client.create("u", 1).await;
    let (mut a, mut b) = two_members(&client).await;
    assert_eq!(a.commit("t", 0, 5).await, ErrorCode::NONE);
    assert_eq!(a.commit("u", 0, 6).await, ErrorCode::NONE);
    let subscribed = delete_offset(&mut client, "t").await;
    assert_eq!(subscribed, Ok(ErrorCode::GROUP_SUBSCRIBED_TO_TOPIC));
    assert_eq!(delete_offset(&mut client, "u").await, Ok(ErrorCode::NONE));
    let unknown = delete_offset(&mut client, "v").await;
    assert_eq!(unknown, Ok(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    let request = DeleteGroupsRequest { groups_names: vec!["g".into()] };
    let refused = client.call(&request, 2).await.results.remove(0);
    assert_eq!(refused.error_code, ErrorCode::NON_EMPTY_GROUP);
    let listed = client.call(&ListGroupsRequest::default(), 5).await.groups.remove(0);
    assert_eq!((&*listed.group_state, &*listed.group_type), ("Stable", "classic"));

    assert_eq!(b.leave().await, ErrorCode::NONE);
    assert_eq!(a.heartbeat().await, ErrorCode::REBALANCE_IN_PROGRESS);
    assert_eq!(a.leave().await, ErrorCode::NONE);
    assert_eq!(committed(&mut client).await, [(0, 5)]);
    let empty = ListGroupsRequest { states_filter: vec!["empty".into()], ..Default::default() };
    assert_eq!(client.call(&empty, 5).await.groups.len(), 1);
    let deleted = client.call(&request, 2).await.results.remove(0);
    assert_eq!(deleted.error_code, ErrorCode::NONE);
    assert_eq!(committed(&mut client).await, []);
    // The name is free for another group, whose generations begin anew.
    assert_eq!(a.heartbeat().await, ErrorCode::UNKNOWN_MEMBER_ID);
    a.id = KString::new();
    assert_eq!(a.join(READS_T).await.generation_id, 1);
}

#[tokio::test(start_paused = true)]
async fn offsets_of_consumers_outside_groups_expire_and_their_group_with_them() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let mut nobody = Member::connect(&client);
    assert_eq!(nobody.commit("t", 0, 5).await, ErrorCode::NONE);
    let asked = OffsetFetchRequestTopics { name: "t".into(), partition_indexes: vec![0, 9] };
    let request = OffsetFetchRequest {
        groups: vec![OffsetFetchRequestGroup {
            group_id: "g".into(),
            topics: Some(vec![asked]),
            ..OffsetFetchRequestGroup::default()
        }],
        ..OffsetFetchRequest::default()
    };
    let found = client.call(&request, 8).await.groups.remove(0).topics.remove(0).partitions;
    assert_eq!((found[0].committed_offset, found[1].committed_offset), (5, -1));
    assert_eq!(found[0].metadata.as_deref(), Some("note"));
    assert_eq!(found[1].error_code, ErrorCode::NONE);

    let request = IncrementalAlterConfigsRequest {
        resources: vec![AlterConfigsResource {
            resource_type: 4,
            resource_name: KString::new(),
            configs: vec![AlterableConfig {
                name: "offsets.retention.minutes".into(),
                config_operation: 0,
                value: Some("2".into()),
            }],
        }],
        ..IncrementalAlterConfigsRequest::default()
    };
    assert_eq!(client.call(&request, 1).await.responses[0].error_code, ErrorCode::NONE);
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(committed(&mut client).await, [(0, 5)]);
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(committed(&mut client).await, []);
    assert_eq!(describe(&mut client, "g").await.error_code, ErrorCode::GROUP_ID_NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn a_drain_answers_the_members_that_wait() {
    let client = Client::start(&disks()).await;
    let (mut a, mut late) = (two_members(&client).await.0, Member::connect(&client));
    let spawn = Arc::clone(&client.spawn);
    let node = client.node;
    let drain = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        node.drain(Duration::from_secs(10)).await;
    };
    let (joined, ()) = tokio::join!(late.join(READS_T), drain);
    assert_eq!(joined.error_code, ErrorCode::NOT_COORDINATOR);
    assert_eq!(a.heartbeat().await, ErrorCode::COORDINATOR_NOT_AVAILABLE);
    spawn.kill().await;
}

#[tokio::test(start_paused = true)]
async fn a_static_member_that_came_back_keeps_its_place_after_a_crash() {
    let disks = disks();
    let mut client = Client::start(&disks).await;
    client.create("t", 1).await;
    let mut old = Member::connect(&client);
    old.instance_id = Some("i".into());
    old.join(READS_T).await;
    let id = old.id.clone();
    assert_eq!(old.sync(&[(&id, b"p0")]).await.assignment, &b"p0"[..]);
    let mut new = Member::connect(&client);
    new.instance_id = Some("i".into());
    let joined = new.join(READS_T).await;
    assert_eq!((joined.generation_id, joined.skip_assignment), (1, true), "no rebalance");
    assert_ne!(new.id, old.id);
    assert_eq!(old.heartbeat().await, ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(new.commit("t", 0, 5).await, ErrorCode::NONE);
    client.spawn.kill().await;
    drop(client);

    let client = Client::start(&disks).await;
    for member in [&mut old, &mut new] {
        member.connection = client.node.service().connect((Ipv4Addr::LOCALHOST, 4).into());
    }
    assert_eq!(old.heartbeat().await, ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(old.commit("t", 0, 1).await, ErrorCode::FENCED_INSTANCE_ID);
    assert_eq!(new.heartbeat().await, ErrorCode::NONE);
    assert_eq!(new.sync(&[]).await.assignment, &b"p0"[..]);
    assert_eq!(new.commit("t", 0, 6).await, ErrorCode::NONE);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_expired_under_its_coordinator_is_claimed_again() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 1).await;
    let expire = || async {
        let groups = vec!["g".to_owned()];
        let command = tidemill_metadata_state::command::DeleteGroups { groups };
        client.node.broker().metadata.propose(command).await.unwrap();
    };
    let mut nobody = Member::connect(&client);
    assert_eq!(nobody.commit("t", 0, 5).await, ErrorCode::NONE);
    expire().await;
    assert_eq!(nobody.commit("t", 0, 6).await, ErrorCode::NONE);
    let mut member = Member::connect(&client);
    assert_eq!(member.join(READS_T).await.error_code, ErrorCode::NONE);
    expire().await;
    let id = member.id.clone();
    assert_eq!(member.sync(&[(&id, b"p0")]).await.assignment, &b"p0"[..]);
    assert_eq!(member.commit("t", 0, 7).await, ErrorCode::NONE);
    assert_eq!(committed(&mut client).await, [(0, 7)]);
}

#[tokio::test(start_paused = true)]
async fn a_commit_of_offsets_is_one_command_or_is_refused_whole() {
    let mut client = Client::start(&disks()).await;
    client.create("t", 300).await;
    let mut nobody = Member::connect(&client);
    let note = |bytes| "n".repeat(bytes);

    let large = (0..150).map(|partition| (partition, 5, note(4096)));
    assert_eq!(nobody.commit_all("t", large).await, [ErrorCode::NONE; 150], "600 KiB");
    let too_large = (0..300).map(|partition| (partition, 6, note(4096)));
    let refused = [ErrorCode::INVALID_COMMIT_OFFSET_SIZE; 300];
    assert_eq!(nobody.commit_all("t", too_large).await, refused, "1.2 MiB");
    let fives: Vec<_> = (0..150).map(|partition| (partition, 5)).collect();
    assert_eq!(committed(&mut client).await, fives, "nothing of the refused commit");

    let one_too_long = [(0, 7, note(4097)), (1, 7, note(4096))];
    let codes = [ErrorCode::OFFSET_METADATA_TOO_LARGE, ErrorCode::NONE];
    assert_eq!(nobody.commit_all("t", one_too_long).await, codes);
    assert_eq!(committed(&mut client).await[..2], [(0, 5), (1, 7)]);
}
