//! JoinGroup: waits until the group's next generation begins.

use std::sync::Arc;

use tidemill_broker_logic::groups::{Join, Ticket};
use tidemill_kafka::messages::join_group::{JoinGroupRequest, JoinGroupResponse};
use tidemill_kafka::{ErrorCode, KString};

use super::group_requests::{may_read_group, member_code};
use crate::broker::Broker;
use crate::groups::Absent;
use crate::kafka_service::Context;

/// The first version in which a member without an id is sent away with one.
const KNOWN_ID_FROM: i16 = 4;
/// The first version in which the answer's protocol may be null.
const NULL_PROTOCOL_FROM: i16 = 7;
/// The first version in which a leader can be told not to assign.
const SKIP_ASSIGNMENT_FROM: i16 = 9;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: JoinGroupRequest,
) -> JoinGroupResponse {
    let version = context.version;
    let mut response = join(&broker, &context, request).await;
    if version < NULL_PROTOCOL_FROM {
        response.protocol_name.get_or_insert_default();
    }
    response
}

async fn join(broker: &Broker, context: &Context, request: JoinGroupRequest) -> JoinGroupResponse {
    let refused = |error_code, member_id| JoinGroupResponse {
        error_code,
        member_id,
        ..JoinGroupResponse::default()
    };
    if !may_read_group(broker, context, &request.group_id) {
        return refused(ErrorCode::GROUP_AUTHORIZATION_FAILED, request.member_id);
    }
    let absent = if request.member_id.is_empty() { Absent::Create } else { Absent::Refuse };
    let coordinator = match broker.groups.coordinator(&request.group_id, absent).await {
        Ok(coordinator) => coordinator,
        Err(code) => return refused(member_code(code), request.member_id),
    };
    let requires_known_id = context.version >= KNOWN_ID_FROM && request.group_instance_id.is_none();
    let join = Join {
        ticket: Ticket(0),
        member_id: request.member_id,
        instance_id: request.group_instance_id,
        client_id: context.client_id.clone().unwrap_or_default(),
        client_host: KString::from(format!("/{}", context.peer.ip())),
        rebalance_timeout_ms: request.rebalance_timeout_ms,
        session_timeout_ms: request.session_timeout_ms,
        protocol_type: request.protocol_type,
        protocols: request
            .protocols
            .into_iter()
            .map(|protocol| (protocol.name, protocol.metadata))
            .collect(),
        unique: broker.random_ids.uuid(),
        requires_known_id,
        can_skip_assignment: context.version >= SKIP_ASSIGNMENT_FROM,
    };
    coordinator.join(broker.group_limits(), join).await
}
