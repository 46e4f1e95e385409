//! Metadata: brokers, topics, and who leads which partition.
//!
//! The leader named is a hint (P6): any broker accepts any partition.

use std::sync::Arc;

use tidemill_base::TopicId;
use tidemill_kafka::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::{Projection, Topic};

use super::topic_creation::{self, NewTopic};
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

/// The bits of operations that are allowed, as Kafka numbers them.
pub(super) const TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
pub(super) const CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: MetadataRequest,
) -> MetadataResponse {
    let with_operations = request.include_topic_authorized_operations;
    let topics = match &request.topics {
        Some(topics) if context.version > 0 || !topics.is_empty() => {
            let may_create = context.version < 4 || request.allow_auto_topic_creation;
            let mut answers = Vec::with_capacity(topics.len());
            for topic in topics {
                answers.push(named(&broker, &context, topic, may_create).await);
            }
            answers
        }
        _ => all(&broker, &context),
    };
    let mut response = MetadataResponse {
        brokers: brokers(&broker.view.projection()),
        cluster_id: Some(KString::from(broker.cluster_id_text())),
        controller_id: broker.id.0,
        topics,
        ..MetadataResponse::default()
    };
    if with_operations {
        for topic in response.topics.iter_mut().filter(|topic| topic.error_code.is_ok()) {
            topic.topic_authorized_operations = TOPIC_OPERATIONS;
        }
    }
    if request.include_cluster_authorized_operations {
        response.cluster_authorized_operations = CLUSTER_OPERATIONS;
    }
    response
}

fn brokers(projection: &Projection) -> Vec<MetadataResponseBroker> {
    let live = projection.brokers().filter(|broker| !broker.fenced);
    live.filter_map(|broker| {
        let listener = broker.listeners.first()?;
        Some(MetadataResponseBroker {
            node_id: broker.id.0,
            host: KString::from(&listener.host),
            port: i32::from(listener.port),
            rack: broker.zone.as_ref().map(KString::from),
        })
    })
    .collect()
}

fn all(broker: &Broker, context: &Context) -> Vec<MetadataResponseTopic> {
    let projection = broker.view.projection();
    projection
        .topics()
        .filter(|topic| may_describe(broker, context, &topic.name))
        .map(|topic| described(broker, &projection, topic))
        .collect()
}

async fn named(
    broker: &Broker,
    context: &Context,
    asked: &MetadataRequestTopic,
    may_create: bool,
) -> MetadataResponseTopic {
    let Some(name) = &asked.name else {
        return by_id(broker, context, asked);
    };
    if !may_describe(broker, context, name) {
        return unknown(asked, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    }
    if let Some(found) = look_up(broker, name) {
        return found;
    }
    if !may_create || !broker.auto_creates_topics() {
        let code = match tidemill_metadata_state::check_topic_name(name) {
            Ok(()) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
            Err(_) => ErrorCode::INVALID_TOPIC_EXCEPTION,
        };
        return unknown(asked, code);
    }
    if !broker.is_allowed(&context.principal, Operation::Create, Resource::Topic(name)) {
        return unknown(asked, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
    }
    match topic_creation::create(broker, NewTopic::with_defaults(broker, name)).await {
        Ok(_) => {}
        Err(error) if error.code == ErrorCode::TOPIC_ALREADY_EXISTS => {}
        Err(error) => return unknown(asked, error.code),
    }
    look_up(broker, name).unwrap_or_else(|| unknown(asked, ErrorCode::LEADER_NOT_AVAILABLE))
}

fn by_id(
    broker: &Broker,
    context: &Context,
    asked: &MetadataRequestTopic,
) -> MetadataResponseTopic {
    let projection = broker.view.projection();
    match projection.topic_by_id(TopicId(asked.topic_id)) {
        Some(topic) if may_describe(broker, context, &topic.name) => {
            described(broker, &projection, topic)
        }
        _ => unknown(asked, ErrorCode::UNKNOWN_TOPIC_ID),
    }
}

fn look_up(broker: &Broker, name: &str) -> Option<MetadataResponseTopic> {
    let projection = broker.view.projection();
    projection.topic(name).map(|topic| described(broker, &projection, topic))
}

fn may_describe(broker: &Broker, context: &Context, name: &str) -> bool {
    broker.is_allowed(&context.principal, Operation::Describe, Resource::Topic(name))
}

fn described(broker: &Broker, projection: &Projection, topic: &Topic) -> MetadataResponseTopic {
    let node = broker.id.0;
    let partitions = (0..).zip(&topic.partitions).map(|(index, id)| {
        let epoch = projection.partition(*id).map_or(0, |view| view.leader_epoch().0);
        MetadataResponsePartition {
            partition_index: index,
            leader_id: node,
            leader_epoch: epoch,
            replica_nodes: vec![node],
            isr_nodes: vec![node],
            ..MetadataResponsePartition::default()
        }
    });
    MetadataResponseTopic {
        name: Some(KString::from(&topic.name)),
        topic_id: topic.id.0,
        partitions: partitions.collect(),
        ..MetadataResponseTopic::default()
    }
}

fn unknown(asked: &MetadataRequestTopic, error_code: ErrorCode) -> MetadataResponseTopic {
    MetadataResponseTopic {
        error_code,
        name: asked.name.clone(),
        topic_id: asked.topic_id,
        ..MetadataResponseTopic::default()
    }
}
