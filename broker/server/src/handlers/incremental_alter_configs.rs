//! IncrementalAlterConfigs: sets, deletes, appends and subtracts; what is not named stays.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::incremental_alter_configs::{
    AlterConfigsResourceResponse, AlterableConfig, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
};
use tidemill_metadata_state::command::{ConfigChange, ConfigOperation};

use super::config_resource::{self, Alteration};
use crate::broker::Broker;
use crate::kafka_service::Context;
use crate::refusals::Failure;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
    let mut response = IncrementalAlterConfigsResponse::default();
    for resource in request.resources {
        let asked = Alteration {
            resource_type: resource.resource_type,
            resource_name: &resource.resource_name,
            replace_all: false,
            changes: changes(&resource.configs),
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

fn changes(configs: &[AlterableConfig]) -> Result<Vec<ConfigChange>, Failure> {
    let mut names = BTreeSet::new();
    let mut changes = Vec::with_capacity(configs.len());
    for config in configs {
        if !names.insert(&config.name) {
            let message = format!("config {} is named twice", &*config.name);
            return Err(Failure::new(ErrorCode::INVALID_REQUEST, message));
        }
        changes.push(change(config)?);
    }
    Ok(changes)
}

fn change(config: &AlterableConfig) -> Result<ConfigChange, Failure> {
    let value = || {
        config.value.as_ref().map(String::from).ok_or_else(|| {
            let message = format!("config {} needs a value for this operation", &*config.name);
            Failure::new(ErrorCode::INVALID_CONFIG, message)
        })
    };
    let operation = match config.config_operation {
        0 => ConfigOperation::Set(value()?),
        1 => ConfigOperation::Delete,
        2 => ConfigOperation::Append(value()?),
        3 => ConfigOperation::Subtract(value()?),
        other => {
            let message = format!("config operation {other} is unknown");
            return Err(Failure::new(ErrorCode::INVALID_REQUEST, message));
        }
    };
    Ok(ConfigChange { name: String::from(&config.name), operation })
}
