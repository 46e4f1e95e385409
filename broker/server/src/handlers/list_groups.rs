//! ListGroups: the groups that this broker coordinates, or that nobody does.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidemill_kafka::messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};
use tidemill_kafka::{ErrorCode, KString};

use super::group_requests::is_held_by_another;
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

/// The only type of group so far.
const CLASSIC: &str = "classic";

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: ListGroupsRequest,
) -> ListGroupsResponse {
    if broker.metadata.read_index().await.is_err() {
        let error_code = ErrorCode::COORDINATOR_NOT_AVAILABLE;
        return ListGroupsResponse { error_code, ..ListGroupsResponse::default() };
    }
    context.take_turn(&broker).await;
    let wanted = |filter: &[KString], value: &str| {
        filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(value))
    };
    let mut response = ListGroupsResponse::default();
    if !wanted(&request.types_filter, CLASSIC) {
        return response;
    }
    let sees_all = broker.is_allowed(&context.principal, Operation::Describe, Resource::Cluster);
    for (name, (state, protocol_type)) in summaries(&broker) {
        let sees = sees_all
            || broker.is_allowed(&context.principal, Operation::Describe, Resource::Group(&name));
        if sees && wanted(&request.states_filter, state) && !is_held_by_another(&broker, &name) {
            response.groups.push(ListedGroup {
                group_id: name.into(),
                protocol_type,
                group_state: KString::from_static(state),
                group_type: KString::from_static(CLASSIC),
            });
        }
    }
    response
}

/// The state and the kind of every group: as this broker has it in memory, else as recorded.
fn summaries(broker: &Broker) -> BTreeMap<String, (&'static str, KString)> {
    let mut summaries: BTreeMap<String, (&'static str, KString)> =
        broker.metadata.with_state(|state| {
            let summary = |group: &tidemill_metadata_state::Group| {
                let state = if group.is_empty() { "Empty" } else { "Stable" };
                let generation = group.generation.as_ref();
                let protocol_type = generation.map(|generation| (&generation.protocol_type).into());
                (state, protocol_type.unwrap_or_default())
            };
            state.groups().map(|(name, group)| (name.to_owned(), summary(group))).collect()
        });
    for held in broker.groups.all() {
        if let Some(summary) = summaries.get_mut(held.name()) {
            *summary = held.summary();
        }
    }
    summaries
}
