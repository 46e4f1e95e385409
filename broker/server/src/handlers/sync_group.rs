//! SyncGroup: waits until the leader's assignment is recorded.

use std::sync::Arc;

use tidemill_broker_logic::groups::{Sync, Ticket};
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};

use super::group_requests::{may_read_group, member_code};
use crate::broker::Broker;
use crate::groups::Absent;
use crate::kafka_service::Context;

/// The first version in which members say which protocol they believe was chosen.
const PROTOCOL_FROM: i16 = 5;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: SyncGroupRequest,
) -> SyncGroupResponse {
    let refused = |error_code| SyncGroupResponse { error_code, ..SyncGroupResponse::default() };
    if !may_read_group(&broker, &context, &request.group_id) {
        return refused(ErrorCode::GROUP_AUTHORIZATION_FAILED);
    }
    let says = request.protocol_type.is_some() && request.protocol_name.is_some();
    if context.version >= PROTOCOL_FROM && !says {
        return refused(ErrorCode::INCONSISTENT_GROUP_PROTOCOL);
    }
    let coordinator = match broker.groups.coordinator(&request.group_id, Absent::Refuse).await {
        Ok(coordinator) => coordinator,
        Err(code) => return refused(member_code(code)),
    };
    let assignments = request.assignments.into_iter();
    let sync = Sync {
        ticket: Ticket(0),
        generation: request.generation_id,
        member_id: request.member_id,
        instance_id: request.group_instance_id,
        protocol_type: request.protocol_type,
        protocol_name: request.protocol_name,
        assignments: assignments.map(|part| (part.member_id, part.assignment)).collect(),
    };
    coordinator.sync(sync).await
}
