//! The fake brokers' side of the protocol.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use tidemill_client::ErrorCode;
use tidemill_kafka::messages::api_versions::{ApiVersion, ApiVersionsResponse};
use tidemill_kafka::messages::create_topics::{
    CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse,
};
use tidemill_kafka::messages::fetch::{
    FetchRequest, FetchResponse, FetchableTopicResponse, PartitionData,
};
use tidemill_kafka::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse,
};
use tidemill_kafka::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};
use tidemill_kafka::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};
use tidemill_kafka::messages::join_group::{
    JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember,
};
use tidemill_kafka::messages::leader_hint::{LeaderIdAndEpoch, NodeEndpoint};
use tidemill_kafka::messages::leave_group::{LeaveGroupRequest, LeaveGroupResponse};
use tidemill_kafka::messages::list_offsets::{
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    ListOffsetsTopicResponse, TIMESTAMP_EARLIEST,
};
use tidemill_kafka::messages::metadata::{
    MetadataRequest, MetadataResponse, MetadataResponseBroker, MetadataResponsePartition,
    MetadataResponseTopic,
};
use tidemill_kafka::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
};
use tidemill_kafka::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use tidemill_kafka::messages::produce::{
    PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse,
};
use tidemill_kafka::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use tidemill_kafka::{
    API_TABLE, ApiKey, KString, Parts, Reader, Request, RequestHeader, Uuid, decode_request,
    encode_response,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::cluster::{Fault, State};

type Shared = Arc<Mutex<State>>;

/// How long a fetch waits for records.
const FETCH_WAIT: Duration = Duration::from_millis(5);

#[expect(clippy::disallowed_methods, reason = "the one place where the fake brokers start tasks")]
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(task));
}

pub(crate) async fn accept(broker: i32, listener: TcpListener, state: Shared) {
    while let Ok((stream, _)) = listener.accept().await {
        spawn(serve(broker, stream, state.clone()));
    }
}

async fn serve(broker: i32, mut stream: TcpStream, state: Shared) {
    while let Ok(length) = stream.read_i32().await {
        let mut frame = BytesMut::zeroed(length as usize);
        if stream.read_exact(&mut frame).await.is_err() {
            return;
        }
        let mut reader = Reader::new(frame.freeze());
        let header = RequestHeader::decode(&mut reader).unwrap();
        let api = ApiKey::from_number(header.api_key).unwrap();
        let fault = {
            let mut state = state.lock();
            state.requests.push((broker, api, header.api_version));
            state.faults.get_mut(&api).and_then(|faults| faults.pop_front())
        };
        let mut answer = match fault {
            Some(Fault::Drop) => return,
            Some(Fault::Oversized) => Parts::new(vec![Bytes::from_static(&[0x7f; 64])]),
            Some(Fault::Garbage) => {
                let mut bytes = BytesMut::from(&[0, 0, 0, 5][..]);
                bytes.extend_from_slice(&header.correlation_id.to_be_bytes());
                bytes.extend_from_slice(&[0xff]);
                Parts::new(vec![bytes.freeze()])
            }
            _ => {
                let code = match fault {
                    Some(Fault::Code(code)) => code,
                    _ => ErrorCode::NONE,
                };
                let is_fetch = api == ApiKey::Fetch;
                if is_fetch {
                    tokio::time::sleep(FETCH_WAIT).await;
                }
                let is_silent_by_wish;
                let parts = {
                    let mut state = state.lock();
                    let answer = handle(broker, &mut state, &header, &mut reader, code);
                    is_silent_by_wish = answer.is_none();
                    answer.unwrap_or_default()
                };
                match fault {
                    Some(Fault::DropAfter) => return,
                    Some(Fault::Silent) => continue,
                    _ if is_silent_by_wish => continue,
                    _ => parts,
                }
            }
        };
        if stream.write_all_buf(&mut answer).await.is_err() {
            return;
        }
    }
}

/// The answer to a request; `None` if it wants none.
fn handle(
    broker: i32,
    state: &mut State,
    header: &RequestHeader,
    r: &mut Reader,
    code: ErrorCode,
) -> Option<Parts> {
    let api = ApiKey::from_number(header.api_key).unwrap();
    match api {
        ApiKey::ApiVersions => return Some(api_versions(state, header)),
        ApiKey::Produce => {
            let request: ProduceRequest = decode_request(r, header).unwrap();
            let response = produce(broker, state, &request, code);
            let answer = encode_response(header.correlation_id, &response, header.api_version);
            return (request.acks != 0).then(|| answer.unwrap());
        }
        _ => {}
    }
    Some(match api {
        ApiKey::Metadata => answer(header, r, |request| metadata(state, &request, code)),
        ApiKey::Fetch => answer(header, r, |request| fetch(broker, state, &request, code)),
        ApiKey::ListOffsets => {
            answer(header, r, |request| list_offsets(broker, state, &request, code))
        }
        ApiKey::InitProducerId => answer(header, r, |_: InitProducerIdRequest| {
            state.next_producer += 1;
            let producer_id = state.next_producer;
            InitProducerIdResponse { producer_id, error_code: code, ..Default::default() }
        }),
        ApiKey::FindCoordinator => {
            answer(header, r, |request| find_coordinator(state, &request, code))
        }
        ApiKey::OffsetCommit => answer(header, r, |request| offset_commit(state, &request, code)),
        ApiKey::OffsetFetch => answer(header, r, |request| offset_fetch(state, &request, code)),
        ApiKey::JoinGroup => answer(header, r, |request| join(state, &request, code)),
        ApiKey::SyncGroup => answer(header, r, |request: SyncGroupRequest| SyncGroupResponse {
            error_code: code,
            assignment: request.assignments.first().unwrap().assignment.clone(),
            ..Default::default()
        }),
        ApiKey::Heartbeat => answer(header, r, |_: HeartbeatRequest| HeartbeatResponse {
            error_code: code,
            ..Default::default()
        }),
        ApiKey::LeaveGroup => answer(header, r, |request: LeaveGroupRequest| {
            let ids = request.members.iter().map(|member| String::from(&member.member_id));
            state.group.left.extend(ids);
            LeaveGroupResponse::default()
        }),
        ApiKey::CreateTopics => answer(header, r, |request| create_topics(&request, code)),
        other => panic!("the fake broker has no {}", other.name()),
    })
}

fn answer<R: Request>(
    header: &RequestHeader,
    r: &mut Reader,
    respond: impl FnOnce(R) -> R::Response,
) -> Parts {
    let response = respond(decode_request(r, header).unwrap());
    encode_response(header.correlation_id, &response, header.api_version).unwrap()
}

fn api_versions(state: &State, header: &RequestHeader) -> Parts {
    let is_known = state.api_versions_max.is_none_or(|max| header.api_version <= max);
    let max = state.api_versions_max;
    let api = |range: &tidemill_kafka::ApiRange| ApiVersion {
        api_key: range.api.number(),
        min_version: range.version_min,
        max_version: match max {
            Some(max) if range.api == ApiKey::ApiVersions => max,
            _ => range.version_max,
        },
    };
    let mut response =
        ApiVersionsResponse { api_keys: API_TABLE.iter().map(api).collect(), ..Default::default() };
    let version = if is_known { header.api_version } else { 0 };
    if !is_known {
        response.error_code = ErrorCode::UNSUPPORTED_VERSION;
    }
    encode_response(header.correlation_id, &response, version).unwrap()
}

fn metadata(state: &State, request: &MetadataRequest, code: ErrorCode) -> MetadataResponse {
    let names: Vec<String> = match &request.topics {
        None => state.topics.keys().cloned().collect(),
        Some(topics) => topics.iter().filter_map(|t| t.name.as_ref().map(String::from)).collect(),
    };
    let topic = |name: String| match state.topics.get(&name) {
        None => MetadataResponseTopic {
            error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            name: Some(name.into()),
            ..Default::default()
        },
        Some(topic) => {
            let led = topic.partitions.iter().zip(0..).map(|(partition, partition_index)| {
                MetadataResponsePartition {
                    partition_index,
                    leader_id: partition.leader,
                    leader_epoch: partition.leader_epoch,
                    replica_nodes: vec![partition.leader],
                    isr_nodes: vec![partition.leader],
                    ..Default::default()
                }
            });
            MetadataResponseTopic {
                error_code: code,
                name: Some(name.into()),
                topic_id: topic.id,
                partitions: led.collect(),
                ..Default::default()
            }
        }
    };
    let broker = |(address, node_id): (&std::net::SocketAddr, i32)| MetadataResponseBroker {
        node_id,
        host: address.ip().to_string().into(),
        port: address.port().into(),
        rack: None,
    };
    MetadataResponse {
        brokers: state.addresses.iter().zip(1..).map(broker).collect(),
        cluster_id: Some("fake".into()),
        controller_id: 1,
        topics: names.into_iter().map(topic).collect(),
        ..Default::default()
    }
}

/// The name of a topic that is asked by name or id.
fn name_of(state: &State, name: &KString, id: Uuid) -> Option<String> {
    let by_id = || state.topics.iter().find(|(_, topic)| topic.id == id).map(|(name, _)| name);
    if name.is_empty() { by_id().cloned() } else { Some(String::from(name)) }
}

fn hint(state: &State, name: &str, index: i32, code: ErrorCode) -> LeaderIdAndEpoch {
    let partition = state.topics.get(name).and_then(|topic| topic.partitions.get(index as usize));
    match partition {
        Some(partition) if state.hints && code == ErrorCode::NOT_LEADER_OR_FOLLOWER => {
            LeaderIdAndEpoch { leader_id: partition.leader, leader_epoch: partition.leader_epoch }
        }
        _ => LeaderIdAndEpoch::default(),
    }
}

fn endpoints(state: &State) -> Vec<NodeEndpoint> {
    let endpoint = |(address, node_id): (&std::net::SocketAddr, i32)| NodeEndpoint {
        node_id,
        host: address.ip().to_string().into(),
        port: address.port().into(),
        rack: None,
    };
    state.addresses.iter().zip(1..).map(endpoint).collect()
}

fn produce(
    broker: i32,
    state: &mut State,
    request: &ProduceRequest,
    code: ErrorCode,
) -> ProduceResponse {
    let mut responses = Vec::new();
    for topic in &request.topic_data {
        let name = name_of(state, &topic.name, topic.topic_id).unwrap();
        let mut partition_responses = Vec::new();
        for data in &topic.partition_data {
            let index = data.index;
            let partition = &mut state.topics.get_mut(&name).unwrap().partitions[index as usize];
            let stored = if code.is_error() {
                Err(code)
            } else if partition.leader != broker {
                Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)
            } else {
                partition.append(data.records.clone().unwrap())
            };
            let error_code = stored.err().unwrap_or_default();
            partition_responses.push(PartitionProduceResponse {
                index,
                error_code,
                base_offset: stored.unwrap_or(-1),
                current_leader: hint(state, &name, index, error_code),
                ..Default::default()
            });
        }
        let (name, topic_id) = (topic.name.clone(), topic.topic_id);
        responses.push(TopicProduceResponse { name, topic_id, partition_responses });
    }
    ProduceResponse { responses, node_endpoints: endpoints(state), ..Default::default() }
}

fn fetch(broker: i32, state: &State, request: &FetchRequest, code: ErrorCode) -> FetchResponse {
    let mut responses = Vec::new();
    for topic in &request.topics {
        let name = name_of(state, &topic.topic, topic.topic_id).unwrap();
        let mut partitions = Vec::new();
        for asked in &topic.partitions {
            let partition = &state.topics[&name].partitions[asked.partition as usize];
            let read = if code.is_error() {
                Err(code)
            } else if partition.leader != broker {
                Err(ErrorCode::NOT_LEADER_OR_FOLLOWER)
            } else {
                partition.read(asked.fetch_offset, asked.partition_max_bytes as usize)
            };
            let error_code = read.as_ref().err().copied().unwrap_or_default();
            partitions.push(PartitionData {
                partition_index: asked.partition,
                error_code,
                high_watermark: partition.end,
                log_start_offset: partition.start,
                records: Some(read.unwrap_or_default().into()),
                current_leader: hint(state, &name, asked.partition, error_code),
                ..Default::default()
            });
        }
        let (topic, topic_id) = (topic.topic.clone(), topic.topic_id);
        responses.push(FetchableTopicResponse { topic, topic_id, partitions });
    }
    FetchResponse { responses, node_endpoints: endpoints(state), ..Default::default() }
}

fn list_offsets(
    broker: i32,
    state: &State,
    request: &ListOffsetsRequest,
    code: ErrorCode,
) -> ListOffsetsResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let index = asked.partition_index;
            let partition = &state.topics[&*topic.name].partitions[index as usize];
            let not_leader = ErrorCode::NOT_LEADER_OR_FOLLOWER;
            let error_code = if partition.leader == broker { code } else { not_leader };
            let is_earliest = asked.timestamp == TIMESTAMP_EARLIEST;
            ListOffsetsPartitionResponse {
                partition_index: index,
                error_code,
                offset: if is_earliest { partition.start } else { partition.end },
                ..Default::default()
            }
        });
        ListOffsetsTopicResponse { name: topic.name.clone(), partitions: partitions.collect() }
    });
    ListOffsetsResponse { topics: topics.collect(), ..Default::default() }
}

fn find_coordinator(
    state: &State,
    request: &FindCoordinatorRequest,
    error_code: ErrorCode,
) -> FindCoordinatorResponse {
    let address = state.addresses[0];
    let coordinator = |key: &KString| Coordinator {
        key: key.clone(),
        node_id: 1,
        host: address.ip().to_string().into(),
        port: address.port().into(),
        error_code,
        error_message: None,
    };
    let coordinators = request.coordinator_keys.iter().map(coordinator).collect();
    FindCoordinatorResponse { coordinators, ..Default::default() }
}

fn offset_commit(
    state: &mut State,
    request: &OffsetCommitRequest,
    code: ErrorCode,
) -> OffsetCommitResponse {
    let mut topics = Vec::new();
    for topic in &request.topics {
        let mut partitions = Vec::new();
        for partition in &topic.partitions {
            let index = partition.partition_index;
            if code.is_ok() {
                let group = String::from(&request.group_id);
                let key = (group, String::from(&topic.name), index);
                state.committed.insert(key, partition.committed_offset);
            }
            let answer = OffsetCommitResponsePartition { partition_index: index, error_code: code };
            partitions.push(answer);
        }
        topics.push(OffsetCommitResponseTopic { name: topic.name.clone(), partitions });
    }
    OffsetCommitResponse { topics, ..Default::default() }
}

fn offset_fetch(
    state: &State,
    request: &OffsetFetchRequest,
    error_code: ErrorCode,
) -> OffsetFetchResponse {
    let group = &request.groups[0];
    let topics = group.topics.iter().flatten().map(|topic| {
        let partitions = topic.partition_indexes.iter().map(|index| {
            let key = (String::from(&group.group_id), String::from(&topic.name), *index);
            OffsetFetchResponsePartitions {
                partition_index: *index,
                committed_offset: state.committed.get(&key).copied().unwrap_or(-1),
                ..Default::default()
            }
        });
        OffsetFetchResponseTopics { name: topic.name.clone(), partitions: partitions.collect() }
    });
    let group = OffsetFetchResponseGroup {
        group_id: group.group_id.clone(),
        topics: topics.collect(),
        error_code,
    };
    OffsetFetchResponse { groups: vec![group], ..Default::default() }
}

/// The one member is always the leader.
fn join(state: &mut State, request: &JoinGroupRequest, code: ErrorCode) -> JoinGroupResponse {
    let group = &mut state.group;
    let mut response = JoinGroupResponse { error_code: code, ..Default::default() };
    if code.is_error() {
        return response;
    }
    if request.member_id.is_empty() {
        group.members_given += 1;
        response.member_id = format!("member-{}", group.members_given).into();
        response.error_code = ErrorCode::MEMBER_ID_REQUIRED;
        return response;
    }
    group.generation += 1;
    group.member_id = String::from(&request.member_id);
    let protocol = &request.protocols[0];
    JoinGroupResponse {
        generation_id: group.generation,
        protocol_name: Some(protocol.name.clone()),
        leader: request.member_id.clone(),
        member_id: request.member_id.clone(),
        members: vec![JoinGroupResponseMember {
            member_id: request.member_id.clone(),
            group_instance_id: None,
            metadata: protocol.metadata.clone(),
        }],
        ..response
    }
}

fn create_topics(request: &CreateTopicsRequest, error_code: ErrorCode) -> CreateTopicsResponse {
    let created = |topic: &tidemill_kafka::messages::create_topics::CreatableTopic| {
        CreatableTopicResult { name: topic.name.clone(), error_code, ..Default::default() }
    };
    let topics = request.topics.iter().map(created).collect();
    CreateTopicsResponse { topics, ..Default::default() }
}
