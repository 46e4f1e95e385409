//! The resources whose configs can be described or altered: topics, and the brokers all alike.

use tidemill_kafka::{ErrorCode, KString};
use tidemill_metadata_state::command::{
    AlterConfigs, ConfigChange, ConfigOperation, ConfigResource,
};
use tidemill_metadata_state::configs::{self, ConfigError};

use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;
use crate::refusals::{Failure, propose};

/// Kafka's number of a topic among resources.
const TYPE_TOPIC: i8 = 2;
/// Kafka's number of a broker among resources.
const TYPE_BROKER: i8 = 4;

/// A resource as the wire names it, resolved.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) resource: ConfigResource,
    /// A broker was named by its id, not all brokers by the empty name.
    pub(super) is_one_broker: bool,
}

/// Resolves a resource, once the principal may do `operation` to it.
pub(super) fn resolve(
    broker: &Broker,
    context: &Context,
    operation: Operation,
    resource_type: i8,
    name: &str,
) -> Result<Resolved, Failure> {
    let may = |resource| broker.is_allowed(&context.principal, operation, resource);
    match resource_type {
        TYPE_TOPIC if !may(Resource::Topic(name)) => {
            Err(Failure::of(ErrorCode::TOPIC_AUTHORIZATION_FAILED))
        }
        TYPE_TOPIC => {
            let projection = broker.view.projection();
            let topic = projection.topic(name);
            let topic = topic.ok_or(Failure::of(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION))?;
            Ok(Resolved { resource: ConfigResource::Topic(topic.id), is_one_broker: false })
        }
        TYPE_BROKER if !may(Resource::Cluster) => {
            Err(Failure::of(ErrorCode::CLUSTER_AUTHORIZATION_FAILED))
        }
        TYPE_BROKER if name.is_empty() || name == broker.id.0.to_string() => {
            Ok(Resolved { resource: ConfigResource::Cluster, is_one_broker: !name.is_empty() })
        }
        TYPE_BROKER => Err(Failure::new(
            ErrorCode::INVALID_REQUEST,
            format!(
                "broker {name:?} is not here; name broker {} or all by an empty name",
                broker.id
            ),
        )),
        other => Err(Failure::new(
            ErrorCode::INVALID_REQUEST,
            format!("resources of type {other} have no configs here, only topics and brokers"),
        )),
    }
}

/// What is asked to become of one resource.
pub(super) struct Alteration<'a> {
    pub(super) resource_type: i8,
    pub(super) resource_name: &'a str,
    /// What is not named goes back to its default.
    pub(super) replace_all: bool,
    /// The changes, or why the request does not name any that can be made.
    pub(super) changes: Result<Vec<ConfigChange>, Failure>,
    pub(super) validate_only: bool,
}

/// Checks or makes changes. Returns the code and the message to answer.
pub(super) async fn alter(
    broker: &Broker,
    context: &Context,
    asked: Alteration<'_>,
) -> (ErrorCode, Option<KString>) {
    match try_alter(broker, context, asked).await {
        Ok(()) => (ErrorCode::NONE, None),
        Err(failure) => (failure.code, Some(KString::from(failure.message))),
    }
}

async fn try_alter(
    broker: &Broker,
    context: &Context,
    asked: Alteration<'_>,
) -> Result<(), Failure> {
    let (kind, name) = (asked.resource_type, asked.resource_name);
    let resource = resolve(broker, context, Operation::AlterConfigs, kind, name)?.resource;
    let changes = asked.changes?;
    if asked.validate_only {
        return check(resource, &changes)
            .map_err(|error| Failure::new(ErrorCode::INVALID_CONFIG, error.to_string()));
    }
    let replace_all = asked.replace_all;
    propose(&broker.metadata, AlterConfigs { resource, replace_all, changes }).await?;
    Ok(())
}

fn check(resource: ConfigResource, changes: &[ConfigChange]) -> Result<(), ConfigError> {
    for change in changes {
        let config = match resource {
            ConfigResource::Topic(_) => configs::topic_config(&change.name)?,
            ConfigResource::Cluster => configs::broker_config(&change.name)?,
        };
        if let ConfigOperation::Set(value) = &change.operation {
            config.check(value)?;
        }
    }
    Ok(())
}
