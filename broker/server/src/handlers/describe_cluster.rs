//! DescribeCluster: the brokers, fenced ones if asked for.

use std::sync::Arc;

use tidemill_kafka::messages::describe_cluster::{
    DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse, ENDPOINT_BROKERS,
};
use tidemill_kafka::{ErrorCode, KString};

use super::metadata::CLUSTER_OPERATIONS;
use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: DescribeClusterRequest,
) -> DescribeClusterResponse {
    if request.endpoint_type != ENDPOINT_BROKERS {
        return DescribeClusterResponse {
            error_code: ErrorCode::MISMATCHED_ENDPOINT_TYPE,
            error_message: Some(
                "brokers answer for brokers; controllers are not reached here".into(),
            ),
            ..DescribeClusterResponse::default()
        };
    }
    let projection = broker.view.projection();
    let brokers = projection
        .brokers()
        .filter(|known| request.include_fenced_brokers || !known.fenced)
        .filter_map(|known| {
            let listener = known.listeners.first()?;
            Some(DescribeClusterBroker {
                broker_id: known.id.0,
                host: KString::from(&listener.host),
                port: i32::from(listener.port),
                rack: known.zone.as_ref().map(KString::from),
                is_fenced: known.fenced,
            })
        });
    let mut response = DescribeClusterResponse {
        cluster_id: KString::from(broker.cluster_id_text()),
        controller_id: broker.id.0,
        brokers: brokers.collect(),
        ..DescribeClusterResponse::default()
    };
    let allowed = broker.is_allowed(&context.principal, Operation::Describe, Resource::Cluster);
    if request.include_cluster_authorized_operations && allowed {
        response.cluster_authorized_operations = CLUSTER_OPERATIONS;
    }
    response
}
