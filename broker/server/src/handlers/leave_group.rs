//! LeaveGroup: one member up to version 2, several from 3 on.

use std::sync::Arc;

use tidemill_broker_logic::groups::Leaving;
use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::leave_group::{
    LeaveGroupRequest, LeaveGroupResponse, MemberResponse,
};

use super::group_requests::may_read_group;
use crate::broker::Broker;
use crate::groups::Absent;
use crate::kafka_service::Context;

/// The first version with several members.
const SEVERAL_FROM: i16 = 3;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: LeaveGroupRequest,
) -> LeaveGroupResponse {
    let leaving: Vec<Leaving> = match context.version {
        ..SEVERAL_FROM => vec![Leaving { member_id: request.member_id, instance_id: None }],
        _ => {
            let named = request.members.into_iter().map(|member| Leaving {
                member_id: member.member_id,
                instance_id: member.group_instance_id,
            });
            named.collect()
        }
    };
    let codes = match may_read_group(&broker, &context, &request.group_id) {
        true => leave(&broker, &request.group_id, &leaving).await,
        false => Err(ErrorCode::GROUP_AUTHORIZATION_FAILED),
    };
    match codes {
        Err(error_code) => LeaveGroupResponse { error_code, ..LeaveGroupResponse::default() },
        Ok(codes) if context.version < SEVERAL_FROM => LeaveGroupResponse {
            error_code: codes.first().copied().unwrap_or_default(),
            ..LeaveGroupResponse::default()
        },
        Ok(codes) => {
            let left = leaving.into_iter().zip(codes).map(|(leaving, error_code)| MemberResponse {
                member_id: leaving.member_id,
                group_instance_id: leaving.instance_id,
                error_code,
            });
            LeaveGroupResponse { members: left.collect(), ..LeaveGroupResponse::default() }
        }
    }
}

async fn leave(
    broker: &Broker,
    group: &str,
    leaving: &[Leaving],
) -> Result<Vec<ErrorCode>, ErrorCode> {
    match broker.groups.coordinator(group, Absent::Refuse).await {
        Ok(coordinator) => coordinator.leave(leaving),
        Err(ErrorCode::GROUP_ID_NOT_FOUND) => Ok(vec![ErrorCode::UNKNOWN_MEMBER_ID; leaving.len()]),
        Err(code) => Err(code),
    }
}
