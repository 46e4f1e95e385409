//! Requests of members, and the group's own encoding of assignments.

use std::collections::BTreeMap;

use bytes::Bytes;
use tidemill_kafka::messages::heartbeat::HeartbeatRequest;
use tidemill_kafka::messages::join_group::{JoinGroupRequest, JoinGroupRequestProtocol};
use tidemill_kafka::messages::leave_group::{LeaveGroupRequest, MemberIdentity};
use tidemill_kafka::messages::offset_commit::{
    OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use tidemill_kafka::messages::offset_fetch::{
    OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse,
};
use tidemill_kafka::messages::sync_group::{SyncGroupRequest, SyncGroupRequestAssignment};
use tidemill_kafka::{ErrorCode, KString};

use crate::invariants::groups::{Part, Positions};
use crate::workload::LASTING_TOPICS;

/// The group.
pub const GROUP: &str = "readers";
/// How long a member may be silent, in milliseconds.
pub const SESSION_TIMEOUT_MS: u64 = 800;
/// How long a rebalance waits for members, in milliseconds.
const REBALANCE_TIMEOUT_MS: i32 = 1_000;
const PROTOCOL_TYPE: &str = "sim";
const PROTOCOL: &str = "range";

/// A member of a generation.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Its id.
    pub member: KString,
    /// The generation.
    pub generation: i32,
}

/// Every partition that the group reads.
pub fn parts() -> impl Iterator<Item = Part> {
    LASTING_TOPICS.iter().flat_map(|(topic, count)| (0..*count).map(move |index| (*topic, index)))
}

/// A member joins; its id is empty if it has none.
pub fn join(member: &KString) -> JoinGroupRequest {
    JoinGroupRequest {
        group_id: GROUP.into(),
        session_timeout_ms: i32::try_from(SESSION_TIMEOUT_MS).unwrap_or(i32::MAX),
        rebalance_timeout_ms: REBALANCE_TIMEOUT_MS,
        member_id: member.clone(),
        protocol_type: PROTOCOL_TYPE.into(),
        protocols: vec![JoinGroupRequestProtocol {
            name: PROTOCOL.into(),
            metadata: Bytes::from_static(b"all"),
        }],
        ..JoinGroupRequest::default()
    }
}

/// A member asks for its part; the leader says everyone's.
pub fn sync(seat: &Seat, assignments: &[(KString, Vec<Part>)]) -> SyncGroupRequest {
    let assignment = |(member, parts): &(KString, Vec<Part>)| SyncGroupRequestAssignment {
        member_id: member.clone(),
        assignment: encode(parts),
    };
    SyncGroupRequest {
        group_id: GROUP.into(),
        generation_id: seat.generation,
        member_id: seat.member.clone(),
        protocol_type: Some(PROTOCOL_TYPE.into()),
        protocol_name: Some(PROTOCOL.into()),
        assignments: assignments.iter().map(assignment).collect(),
        ..SyncGroupRequest::default()
    }
}

/// A member lives.
pub fn heartbeat(seat: &Seat) -> HeartbeatRequest {
    HeartbeatRequest {
        group_id: GROUP.into(),
        generation_id: seat.generation,
        member_id: seat.member.clone(),
        ..HeartbeatRequest::default()
    }
}

/// A member leaves.
pub fn leave(seat: &Seat) -> LeaveGroupRequest {
    let member = MemberIdentity { member_id: seat.member.clone(), ..MemberIdentity::default() };
    LeaveGroupRequest {
        group_id: GROUP.into(),
        members: vec![member],
        ..LeaveGroupRequest::default()
    }
}

/// A member commits positions.
pub fn commit(seat: &Seat, positions: &Positions) -> OffsetCommitRequest {
    let mut topics: BTreeMap<&str, Vec<OffsetCommitRequestPartition>> = BTreeMap::new();
    for ((topic, index), offset) in positions {
        topics.entry(topic).or_default().push(OffsetCommitRequestPartition {
            partition_index: *index,
            committed_offset: *offset,
            ..OffsetCommitRequestPartition::default()
        });
    }
    OffsetCommitRequest {
        group_id: GROUP.into(),
        generation_id_or_member_epoch: seat.generation,
        member_id: seat.member.clone(),
        topics: topics
            .into_iter()
            .map(|(name, partitions)| OffsetCommitRequestTopic { name: name.into(), partitions })
            .collect(),
        ..OffsetCommitRequest::default()
    }
}

/// Whatever the group has committed.
pub fn fetch_offsets() -> OffsetFetchRequest {
    let topic = |(name, count): &(&str, i32)| OffsetFetchRequestTopic {
        name: (*name).into(),
        partition_indexes: (0..*count).collect(),
    };
    OffsetFetchRequest {
        group_id: GROUP.into(),
        topics: Some(LASTING_TOPICS.iter().map(topic).collect()),
        ..OffsetFetchRequest::default()
    }
}

/// The positions in an answer to [`fetch_offsets`]; -1 where none is committed.
///
/// # Errors
/// The code of the whole or of any partition.
pub fn positions(response: &OffsetFetchResponse) -> Result<Positions, ErrorCode> {
    response.error_code.check()?;
    let mut positions = Positions::new();
    for (topic, (name, _)) in response.topics.iter().zip(LASTING_TOPICS) {
        for partition in &topic.partitions {
            partition.error_code.check()?;
            positions.insert((*name, partition.partition_index), partition.committed_offset);
        }
    }
    Ok(positions)
}

/// Shares all partitions out among members, in consecutive ones.
pub fn share_out(members: Vec<KString>) -> Vec<(KString, Vec<Part>)> {
    let parts: Vec<Part> = parts().collect();
    let count = members.len();
    let share = |(index, member): (usize, KString)| {
        let (from, to) = (index * parts.len() / count, (index + 1) * parts.len() / count);
        (member, parts[from..to].to_vec())
    };
    members.into_iter().enumerate().map(share).collect()
}

fn encode(assigned: &[Part]) -> Bytes {
    let place = |part: &Part| parts().position(|known| known == *part);
    assigned.iter().filter_map(|part| u8::try_from(place(part)?).ok()).collect()
}

/// The partitions of an assignment.
pub fn decode(assignment: &Bytes) -> Vec<Part> {
    assignment.iter().filter_map(|place| parts().nth(usize::from(*place))).collect()
}
