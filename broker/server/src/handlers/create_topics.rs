//! CreateTopics.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidemill_kafka::messages::create_topics::{
    CreatableTopic, CreatableTopicConfigs, CreatableTopicResult, CreateTopicsRequest,
    CreateTopicsResponse,
};
use tidemill_kafka::{ErrorCode, KString};

use super::topic_creation::{self, NewTopic};
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::config_entries;
use crate::kafka_service::Context;
use crate::refusals::Failure;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: CreateTopicsRequest,
) -> CreateTopicsResponse {
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<KString> = request
        .topics
        .iter()
        .filter(|topic| !seen.insert(topic.name.clone()))
        .map(|topic| topic.name.clone())
        .collect();
    let mut response = CreateTopicsResponse::default();
    let mut answered = BTreeSet::new();
    for topic in request.topics {
        if !answered.insert(topic.name.clone()) {
            continue;
        }
        let name = topic.name.clone();
        let created = if twice.contains(&name) {
            Err(Failure::new(ErrorCode::INVALID_REQUEST, "the topic is named twice in the request"))
        } else {
            create(&broker, &context, topic, request.validate_only).await
        };
        response.topics.push(created.unwrap_or_else(|error| failed(name, error)));
    }
    response
}

async fn create(
    broker: &Broker,
    context: &Context,
    topic: CreatableTopic,
    validate_only: bool,
) -> Result<CreatableTopicResult, Failure> {
    let allowed = broker.is_allowed(&context.principal, Operation::Create, Resource::Cluster)
        || broker.is_allowed(&context.principal, Operation::Create, Resource::Topic(&topic.name));
    if !allowed {
        return Err(Failure::of(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    }
    let name = topic.name.clone();
    let new = NewTopic::from_request(broker, topic)?;
    let created = match validate_only {
        true => topic_creation::validate(broker, new)?,
        false => topic_creation::create(broker, new).await?,
    };
    let configs = config_entries::of_topic(broker, &created.configs);
    let configs = configs.into_iter().map(|entry| CreatableTopicConfigs {
        name: entry.name.into(),
        value: Some(entry.value.clone().into()),
        read_only: entry.read_only,
        config_source: config_entries::source_number(entry.source),
        is_sensitive: false,
    });
    Ok(CreatableTopicResult {
        name,
        topic_id: created.id.0,
        num_partitions: i32::try_from(created.partitions).unwrap_or(i32::MAX),
        replication_factor: created.replication_factor,
        configs: Some(configs.collect()),
        ..CreatableTopicResult::default()
    })
}

fn failed(name: KString, error: Failure) -> CreatableTopicResult {
    CreatableTopicResult {
        name,
        error_code: error.code,
        error_message: Some(error.message.into()),
        ..CreatableTopicResult::default()
    }
}
