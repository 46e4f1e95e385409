//! Heartbeat: a member lives, and asks whether it still is one.

use std::sync::Arc;

use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};

use super::group_requests::{may_read_group, member_code};
use crate::broker::Broker;
use crate::groups::Absent;
use crate::kafka_service::Context;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: HeartbeatRequest,
) -> HeartbeatResponse {
    let error_code = heartbeat(&broker, &context, &request).await;
    HeartbeatResponse { error_code, ..HeartbeatResponse::default() }
}

async fn heartbeat(broker: &Broker, context: &Context, request: &HeartbeatRequest) -> ErrorCode {
    if !may_read_group(broker, context, &request.group_id) {
        return ErrorCode::GROUP_AUTHORIZATION_FAILED;
    }
    match broker.groups.coordinator(&request.group_id, Absent::Refuse).await {
        Ok(coordinator) => coordinator.heartbeat(
            request.generation_id,
            &request.member_id,
            request.group_instance_id.as_ref(),
        ),
        Err(code) => member_code(code),
    }
}
