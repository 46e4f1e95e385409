//! Metadata: brokers, topics, and who leads which partition.
//!
//! The leader named is a hint (P6): any broker accepts any partition.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidemill_base::TopicId;
use tidemill_kafka::messages::metadata::{
    MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseBroker,
    MetadataResponsePartition, MetadataResponseTopic,
};
use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::{Projection, Topic};

use super::distinct::distinct;
use super::topic_creation::{self, NewTopic};
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

/// The bits of operations that are allowed, as Kafka numbers them.
pub(super) const TOPIC_OPERATIONS: i32 = 0b1101_1111_1000;
pub(super) const CLUSTER_OPERATIONS: i32 = 0b1_1111_1010_0000;

/// Topics that one request creates. Clients that name more ask again for the rest.
const CREATED_MAX: usize = 100;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: MetadataRequest,
) -> MetadataResponse {
    let with_operations = request.include_topic_authorized_operations;
    let asked = request.topics.filter(|topics| context.version > 0 || !topics.is_empty());
    let asked = asked.map(|topics| distinct(topics, |topic| (topic.name.clone(), topic.topic_id)));
    let topics = match asked {
        Some(asked) => {
            let may_create = context.version < 4 || request.allow_auto_topic_creation;
            let not_created = match may_create && broker.auto_creates_topics() {
                true => create_missing(&broker, &context, &asked).await,
                false => BTreeMap::new(),
            };
            context.take_turn(&broker).await;
            let mut answers = Vec::with_capacity(asked.len());
            for topic in &asked {
                answers.push(named(&broker, &context, topic, &not_created));
                // A request may name thousands of topics of thousands of partitions.
                tokio::task::coop::consume_budget().await;
            }
            answers
        }
        None => {
            context.take_turn(&broker).await;
            all(&broker, &context)
        }
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

/// Creates topics that are asked for and missing, and tells why some could not be.
async fn create_missing(
    broker: &Broker,
    context: &Context,
    asked: &[MetadataRequestTopic],
) -> BTreeMap<KString, ErrorCode> {
    let is_missing = |name: &KString| broker.view.projection().topic(name).is_none();
    let mut not_created = BTreeMap::new();
    let names = asked.iter().filter_map(|topic| topic.name.as_ref());
    for (at, name) in names.filter(|name| is_missing(name)).enumerate() {
        let is_allowed = may_describe(broker, context, name)
            && broker.is_allowed(&context.principal, Operation::Create, Resource::Topic(name));
        let created = match is_allowed {
            false => Err(ErrorCode::TOPIC_AUTHORIZATION_FAILED),
            true if at >= CREATED_MAX => Err(ErrorCode::LEADER_NOT_AVAILABLE),
            true => topic_creation::create(broker, NewTopic::with_defaults(broker, name))
                .await
                .map(|_| ())
                .map_err(|error| error.code),
        };
        match created {
            Ok(()) | Err(ErrorCode::TOPIC_ALREADY_EXISTS) => {}
            Err(code) => {
                not_created.insert(name.clone(), code);
            }
        }
    }
    not_created
}

fn named(
    broker: &Broker,
    context: &Context,
    asked: &MetadataRequestTopic,
    not_created: &BTreeMap<KString, ErrorCode>,
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
    let code = match (not_created.get(name), tidemill_metadata_state::check_topic_name(name)) {
        (Some(code), _) => *code,
        (None, Ok(())) => ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        (None, Err(_)) => ErrorCode::INVALID_TOPIC_EXCEPTION,
    };
    unknown(asked, code)
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
