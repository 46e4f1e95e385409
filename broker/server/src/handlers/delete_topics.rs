//! DeleteTopics: by name, or by id from version 6 on.

use std::sync::Arc;

use tidemill_base::TopicId;
use tidemill_kafka::messages::delete_topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::DeleteTopic;

use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;
use crate::refusals::{Failure, propose};

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: DeleteTopicsRequest,
) -> DeleteTopicsResponse {
    let by_name = request
        .topic_names
        .into_iter()
        .map(|name| DeleteTopicState { name: Some(name), ..DeleteTopicState::default() });
    let mut response = DeleteTopicsResponse::default();
    for topic in request.topics.into_iter().chain(by_name) {
        response.responses.push(delete(&broker, &context, topic).await);
    }
    response
}

async fn delete(
    broker: &Broker,
    context: &Context,
    asked: DeleteTopicState,
) -> DeletableTopicResult {
    let found = resolve(broker, &asked);
    let (name, id) = match found {
        Some((name, id)) => (Some(KString::from(name)), id),
        None => (asked.name.clone(), TopicId(asked.topic_id)),
    };
    let deleted = match &name {
        _ if names_no_topic(&asked) => Err(Failure::of(ErrorCode::INVALID_REQUEST)),
        Some(name) => delete_resolved(broker, context, name, id, asked.name.is_some()).await,
        None => Err(Failure::of(ErrorCode::UNKNOWN_TOPIC_ID)),
    };
    let (error_code, error_message) = match deleted {
        Ok(()) => (ErrorCode::NONE, None),
        Err(failure) => (failure.code, Some(KString::from(failure.message))),
    };
    DeletableTopicResult { name, topic_id: id.0, error_code, error_message }
}

/// Neither a name nor an id, or both.
fn names_no_topic(asked: &DeleteTopicState) -> bool {
    let has_id = !asked.topic_id.is_nil();
    asked.name.is_some() == has_id
}

fn resolve(broker: &Broker, asked: &DeleteTopicState) -> Option<(String, TopicId)> {
    let projection = broker.view.projection();
    let topic = match &asked.name {
        Some(name) => projection.topic(name),
        None => projection.topic_by_id(TopicId(asked.topic_id)),
    };
    topic.map(|topic| (topic.name.clone(), topic.id))
}

async fn delete_resolved(
    broker: &Broker,
    context: &Context,
    name: &str,
    id: TopicId,
    by_name: bool,
) -> Result<(), Failure> {
    if !broker.is_allowed(&context.principal, Operation::Delete, Resource::Topic(name)) {
        return Err(Failure::of(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    }
    if id.0.is_nil() {
        return Err(Failure::of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    }
    match propose(&broker.metadata, DeleteTopic { topic: id }).await {
        Ok(_) => Ok(()),
        Err(failure) if !by_name && failure.code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
            Err(Failure::of(ErrorCode::UNKNOWN_TOPIC_ID))
        }
        Err(failure) => Err(failure),
    }
}
