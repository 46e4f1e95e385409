//! DescribeConfigs: every config with its value, where it comes from, and what it does here.

use std::sync::Arc;

use tidemill_kafka::messages::describe_configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
    DescribeConfigsResponse, DescribeConfigsResult, DescribeConfigsSynonym,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::ConfigResource;
use tidemill_metadata_state::configs::{ConfigEntry, describe_broker};

use super::config_resource;
use super::distinct::distinct;
use crate::authorization::Operation;
use crate::broker::Broker;
use crate::config_entries::{self, source_number, type_number};
use crate::kafka_service::Context;
use crate::refusals::Failure;

/// Resources that one request describes; an answer tells some 4 KiB of each.
const RESOURCES_MAX: usize = 5_000;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let key = |resource: &DescribeConfigsResource| {
        (resource.resource_type, resource.resource_name.clone())
    };
    let mut request = request;
    request.resources = distinct(request.resources, key);
    context.take_turn(&broker).await;
    let mut response = DescribeConfigsResponse::default();
    for (at, resource) in request.resources.iter().enumerate() {
        tokio::task::coop::consume_budget().await;
        let mut result = DescribeConfigsResult {
            resource_type: resource.resource_type,
            resource_name: resource.resource_name.clone(),
            ..DescribeConfigsResult::default()
        };
        let entries = match at < RESOURCES_MAX {
            true => entries(&broker, &context, resource),
            false => Err(Failure::new(
                ErrorCode::INVALID_REQUEST,
                format!("one request describes at most {RESOURCES_MAX} resources"),
            )),
        };
        match entries {
            Ok(entries) => {
                let wanted = entries.iter().filter(|entry| is_wanted(resource, entry.name));
                result.configs = wanted.map(|entry| shown(entry, &request)).collect();
            }
            Err(failure) => {
                result.error_code = failure.code;
                result.error_message = Some(KString::from(failure.message));
            }
        }
        response.results.push(result);
    }
    response
}

fn is_wanted(resource: &DescribeConfigsResource, name: &str) -> bool {
    let keys = resource.configuration_keys.as_ref();
    keys.is_none_or(|keys| keys.is_empty() || keys.iter().any(|key| *key == *name))
}

fn entries(
    broker: &Broker,
    context: &Context,
    asked: &DescribeConfigsResource,
) -> Result<Vec<ConfigEntry>, Failure> {
    let operation = Operation::DescribeConfigs;
    let name = &asked.resource_name;
    let resolved = config_resource::resolve(broker, context, operation, asked.resource_type, name)?;
    match resolved.resource {
        ConfigResource::Topic(id) => {
            let overrides = {
                let projection = broker.view.projection();
                let topic = projection.topic_by_id(id);
                let unknown = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
                topic.ok_or(Failure::of(unknown))?.configs.clone()
            };
            Ok(config_entries::of_topic(broker, &overrides))
        }
        ConfigResource::Cluster => {
            let projection = broker.view.projection();
            let altered = projection.cluster_configs();
            let mut entries = describe_broker(altered, &broker.config.startup_configs);
            if !resolved.is_one_broker {
                // All brokers alike: only what was altered for all of them.
                entries.retain(|entry| altered.contains_key(entry.name));
            }
            Ok(entries)
        }
    }
}

fn shown(entry: &ConfigEntry, request: &DescribeConfigsRequest) -> DescribeConfigsResourceResult {
    let synonyms = entry.synonyms.iter().map(|synonym| DescribeConfigsSynonym {
        name: synonym.name.into(),
        value: Some(KString::from(&synonym.value)),
        source: source_number(synonym.source),
    });
    DescribeConfigsResourceResult {
        name: entry.name.into(),
        value: Some(KString::from(&entry.value)),
        read_only: entry.read_only,
        config_source: source_number(entry.source),
        is_sensitive: false,
        synonyms: if request.include_synonyms { synonyms.collect() } else { Vec::new() },
        config_type: type_number(entry.kind),
        documentation: request.include_documentation.then(|| entry.documentation.into()),
    }
}
