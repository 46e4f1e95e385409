//! AlterConfigs: what is not named goes back to its default.

use std::sync::Arc;

use tidemill_kafka::messages::alter_configs::{
    AlterConfigsRequest, AlterConfigsResource, AlterConfigsResourceResponse, AlterConfigsResponse,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::{ConfigChange, ConfigOperation};

use super::config_resource;
use crate::authorization::Operation;
use crate::broker::Broker;
use crate::kafka_service::Context;
use crate::refusals::Failure;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: AlterConfigsRequest,
) -> AlterConfigsResponse {
    let mut response = AlterConfigsResponse::default();
    for resource in request.resources {
        let altered = alter(&broker, &context, &resource, request.validate_only).await;
        let (error_code, error_message) = match altered {
            Ok(()) => (ErrorCode::NONE, None),
            Err(failure) => (failure.code, Some(KString::from(failure.message))),
        };
        response.responses.push(AlterConfigsResourceResponse {
            error_code,
            error_message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
        });
    }
    response
}

async fn alter(
    broker: &Broker,
    context: &Context,
    asked: &AlterConfigsResource,
    validate_only: bool,
) -> Result<(), Failure> {
    let (kind, name) = (asked.resource_type, &asked.resource_name);
    let resolved = config_resource::resolve(broker, context, Operation::AlterConfigs, kind, name)?;
    let change = |config: &tidemill_kafka::messages::alter_configs::AlterableConfig| {
        let operation = match &config.value {
            Some(value) => ConfigOperation::Set(value.into()),
            None => ConfigOperation::Delete,
        };
        ConfigChange { name: String::from(&config.name), operation }
    };
    let changes = asked.configs.iter().map(change).collect();
    config_resource::alter(broker, resolved.resource, true, changes, validate_only).await
}
