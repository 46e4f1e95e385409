//! FindCoordinator: the broker that has claimed a group; this one for a group that nobody has.

use std::sync::Arc;

use tidemill_base::BrokerId;
use tidemill_kafka::messages::find_coordinator::{
    Coordinator, FindCoordinatorRequest, FindCoordinatorResponse, KEY_TYPE_GROUP,
    KEY_TYPE_TRANSACTION,
};
use tidemill_kafka::{ErrorCode, KString};

use super::distinct::distinct;
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

/// The first version with several keys.
const SEVERAL_FROM: i16 = 4;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: FindCoordinatorRequest,
) -> FindCoordinatorResponse {
    let find = |key: KString| {
        let found = find(&broker, &context, request.key_type, &key);
        let (node_id, host, port, error_code) = match found {
            Ok((id, host, port)) => (id.0, host, port, ErrorCode::NONE),
            Err(code) => (-1, KString::new(), -1, code),
        };
        let error_message =
            (!error_code.is_ok()).then(|| KString::from_static(error_code.description()));
        Coordinator { key, node_id, host, port, error_code, error_message }
    };
    if context.version >= SEVERAL_FROM {
        let keys = distinct(request.coordinator_keys, KString::clone);
        context.take_turn(&broker).await;
        let coordinators = keys.into_iter().map(find).collect();
        return FindCoordinatorResponse { coordinators, ..FindCoordinatorResponse::default() };
    }
    let found = find(request.key);
    FindCoordinatorResponse {
        error_code: found.error_code,
        error_message: found.error_message,
        node_id: found.node_id,
        host: found.host,
        port: found.port,
        ..FindCoordinatorResponse::default()
    }
}

fn find(
    broker: &Broker,
    context: &Context,
    key_type: i8,
    key: &str,
) -> Result<(BrokerId, KString, i32), ErrorCode> {
    let claimed = match key_type {
        KEY_TYPE_GROUP => {
            if !broker.is_allowed(&context.principal, Operation::Describe, Resource::Group(key)) {
                return Err(ErrorCode::GROUP_AUTHORIZATION_FAILED);
            }
            broker.view.projection().coordinator(key).map(|coordinator| coordinator.broker)
        }
        // Asked before InitProducerId, which says what is not served.
        KEY_TYPE_TRANSACTION => None,
        _ => return Err(ErrorCode::INVALID_REQUEST),
    };
    let projection = broker.view.projection();
    let coordinator = projection.broker(claimed.unwrap_or(broker.id));
    let listener = coordinator.and_then(|found| found.listeners.first());
    match (coordinator, listener) {
        (Some(found), Some(listener)) => {
            Ok((found.id, KString::from(&listener.host), i32::from(listener.port)))
        }
        _ => Err(ErrorCode::COORDINATOR_NOT_AVAILABLE),
    }
}
