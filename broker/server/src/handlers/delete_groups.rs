//! DeleteGroups: groups without members go, with their offsets.

use std::sync::Arc;

use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::delete_groups::{
    DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse,
};
use tidemill_metadata_state::Outcome;
use tidemill_metadata_state::command::DeleteGroups;

use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::groups::Absent;
use crate::kafka_service::Context;
use crate::refusals::{propose, refusal_code, unexpected};

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: DeleteGroupsRequest,
) -> DeleteGroupsResponse {
    let mut response = DeleteGroupsResponse::default();
    for group_id in request.groups_names {
        let allowed =
            broker.is_allowed(&context.principal, Operation::Delete, Resource::Group(&group_id));
        let deleted = match allowed {
            true => delete(&broker, &group_id).await,
            false => Err(ErrorCode::GROUP_AUTHORIZATION_FAILED),
        };
        let error_code = deleted.err().unwrap_or_default();
        response.results.push(DeletableGroupResult { group_id, error_code });
    }
    response
}

/// The coordinator lets go of the group first, so that nothing joins it or commits to it meanwhile.
async fn delete(broker: &Broker, group: &str) -> Result<(), ErrorCode> {
    broker.groups.coordinator(group, Absent::Refuse).await?.delete()?;
    let command = DeleteGroups { groups: vec![group.to_owned()] };
    match propose(&broker.metadata, command).await.map_err(|failure| failure.code)? {
        Outcome::GroupsDeleted(results) => match results.into_iter().next() {
            Some(Err(refusal)) => Err(refusal_code(&refusal)),
            _ => Ok(()),
        },
        other => Err(unexpected(&other).code),
    }
}
