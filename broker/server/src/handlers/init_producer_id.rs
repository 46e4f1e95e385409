//! InitProducerId: an id for an idempotent producer.
//!
//! A producer that comes back with its id gets a new epoch of it, or a new id when the epochs are
//! used up. Transactional ids come with transactions; until then they are refused by name.

use std::sync::Arc;

use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::{InitProducerIdRequest, InitProducerIdResponse};

use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

pub(crate) async fn handle(
    broker: Arc<Broker>,
    context: Context,
    request: InitProducerIdRequest,
) -> InitProducerIdResponse {
    if !broker.is_allowed(&context.principal, Operation::Write, Resource::Cluster) {
        return refused(ErrorCode::CLUSTER_AUTHORIZATION_FAILED);
    }
    if request.transactional_id.is_some() {
        return refused(ErrorCode::UNSUPPORTED_VERSION);
    }
    let known = (request.producer_id, request.producer_epoch);
    if known.0 >= 0 && (0..i16::MAX - 1).contains(&known.1) {
        return granted(known.0, known.1 + 1);
    }
    match broker.producer_ids.next(&broker.metadata, broker.id, broker.epoch).await {
        Some(id) => granted(id.0, 0),
        None => refused(ErrorCode::COORDINATOR_NOT_AVAILABLE),
    }
}

fn granted(producer_id: i64, producer_epoch: i16) -> InitProducerIdResponse {
    InitProducerIdResponse { producer_id, producer_epoch, ..InitProducerIdResponse::default() }
}

fn refused(error_code: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse { error_code, ..InitProducerIdResponse::default() }
}
