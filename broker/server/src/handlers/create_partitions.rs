//! CreatePartitions: more partitions for a topic, never fewer.

use std::collections::BTreeSet;
use std::sync::Arc;

use tidemill_kafka::messages::create_partitions::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic,
    CreatePartitionsTopicResult,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::{CreatePartitions, CreateTopic};

use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;
use crate::refusals::{Failure, propose};

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: CreatePartitionsRequest,
) -> CreatePartitionsResponse {
    let mut response = CreatePartitionsResponse::default();
    let mut seen = BTreeSet::new();
    for topic in request.topics {
        let created = match seen.insert(topic.name.clone()) {
            true => create(&broker, &context, &topic, request.validate_only).await,
            false => Err(Failure::new(ErrorCode::INVALID_REQUEST, "the topic is named twice")),
        };
        let (error_code, error_message) = match created {
            Ok(()) => (ErrorCode::NONE, None),
            Err(failure) => (failure.code, Some(KString::from(failure.message))),
        };
        response.results.push(CreatePartitionsTopicResult {
            name: topic.name,
            error_code,
            error_message,
        });
    }
    response
}

async fn create(
    broker: &Broker,
    context: &Context,
    asked: &CreatePartitionsTopic,
    validate_only: bool,
) -> Result<(), Failure> {
    if !broker.is_allowed(&context.principal, Operation::Alter, Resource::Topic(&asked.name)) {
        return Err(Failure::of(ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    }
    let (topic, present) = {
        let projection = broker.view.projection();
        let topic = projection.topic(&asked.name);
        let topic = topic.ok_or(Failure::of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))?;
        (topic.id, topic.partitions.len())
    };
    let partitions_total = check_count(asked, present)?;
    if validate_only {
        return Ok(());
    }
    propose(&broker.metadata, CreatePartitions { topic, partitions_total }).await?;
    Ok(())
}

fn check_count(asked: &CreatePartitionsTopic, present: usize) -> Result<u32, Failure> {
    let invalid = |message: String| Err(Failure::new(ErrorCode::INVALID_PARTITIONS, message));
    let count = u32::try_from(asked.count).unwrap_or(0);
    if count as usize <= present {
        return invalid(format!(
            "the topic has {present} partitions already, which cannot be reduced or kept at {}",
            asked.count
        ));
    }
    if count > CreateTopic::PARTITIONS_MAX {
        return invalid(format!("a topic has at most {} partitions", CreateTopic::PARTITIONS_MAX));
    }
    let added = count as usize - present;
    match &asked.assignments {
        Some(assignments) if assignments.len() != added => Err(Failure::new(
            ErrorCode::INVALID_REPLICA_ASSIGNMENT,
            format!("{added} partitions are added, but {} are assigned", assignments.len()),
        )),
        _ => Ok(count),
    }
}
