//! DescribeGroups: the state and the members of groups.

use std::sync::Arc;

use tidemill_broker_logic::groups::recorded_description;
use tidemill_kafka::messages::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup,
};
use tidemill_kafka::{ErrorCode, KString};

use super::distinct::distinct;
use super::group_requests::{GROUP_OPERATIONS, is_held_by_another};
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

/// The first version in which a group that does not exist is an error and not a dead group.
const NOT_FOUND_FROM: i16 = 6;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: DescribeGroupsRequest,
) -> DescribeGroupsResponse {
    let current = broker.metadata.read_index().await.is_ok();
    let groups = distinct(request.groups, KString::clone);
    context.take_turn(&broker).await;
    let mut response = DescribeGroupsResponse::default();
    for group in groups {
        let mut described = match current {
            true => describe(&broker, &context, &group),
            false => refused(ErrorCode::COORDINATOR_NOT_AVAILABLE),
        };
        described.group_id = group;
        if request.include_authorized_operations && described.error_code.is_ok() {
            described.authorized_operations = GROUP_OPERATIONS;
        }
        response.groups.push(described);
    }
    response
}

fn describe(broker: &Broker, context: &Context, group: &str) -> DescribedGroup {
    if !broker.is_allowed(&context.principal, Operation::Describe, Resource::Group(group)) {
        return refused(ErrorCode::GROUP_AUTHORIZATION_FAILED);
    }
    if let Some(held) = broker.groups.held(group) {
        return held.describe();
    }
    if is_held_by_another(broker, group) {
        return refused(ErrorCode::NOT_COORDINATOR);
    }
    let recorded = broker.metadata.with_state(|state| {
        state.group(group).map(|known| recorded_description(known.generation.as_ref()))
    });
    match recorded {
        Some(described) => described,
        None if context.version < NOT_FOUND_FROM => {
            DescribedGroup { group_state: "Dead".into(), ..DescribedGroup::default() }
        }
        None => DescribedGroup {
            group_state: "Dead".into(),
            error_message: Some(KString::from(format!("Group {group} not found."))),
            ..refused(ErrorCode::GROUP_ID_NOT_FOUND)
        },
    }
}

fn refused(error_code: ErrorCode) -> DescribedGroup {
    DescribedGroup { error_code, ..DescribedGroup::default() }
}
