//! AlterConfigs: what is not named goes back to its default.

use std::sync::Arc;

use tidemill_kafka::messages::alter_configs::{
    AlterConfigsRequest, AlterConfigsResourceResponse, AlterConfigsResponse, AlterableConfig,
};
use tidemill_metadata_state::command::{ConfigChange, ConfigOperation};

use super::config_resource::{self, Alteration};
use crate::broker::Broker;
use crate::kafka_service::Context;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: AlterConfigsRequest,
) -> AlterConfigsResponse {
    let mut response = AlterConfigsResponse::default();
    for resource in request.resources {
        let asked = Alteration {
            resource_type: resource.resource_type,
            resource_name: &resource.resource_name,
            replace_all: true,
            changes: Ok(resource.configs.iter().map(change).collect()),
            validate_only: request.validate_only,
        };
        let (error_code, error_message) = config_resource::alter(&broker, &context, asked).await;
        response.responses.push(AlterConfigsResourceResponse {
            error_code,
            error_message,
            resource_type: resource.resource_type,
            resource_name: resource.resource_name,
        });
    }
    response
}

fn change(config: &AlterableConfig) -> ConfigChange {
    let operation = match &config.value {
        Some(value) => ConfigOperation::Set(value.into()),
        None => ConfigOperation::Delete,
    };
    ConfigChange { name: String::from(&config.name), operation }
}
