//! What the handlers of groups have in common.

use tidemill_kafka::ErrorCode;

use crate::authorization::{Operation, Resource};
use crate::broker::Broker;
use crate::kafka_service::Context;

/// The bits of operations on groups that are allowed, as Kafka numbers them: read, delete, describe.
pub(super) const GROUP_OPERATIONS: i32 = 0b1_0100_1000;

/// Whether the principal may be a member of the group.
pub(super) fn may_read_group(broker: &Broker, context: &Context, group: &str) -> bool {
    broker.is_allowed(&context.principal, Operation::Read, Resource::Group(group))
}

/// What a member is told: to one of a group that does not exist its own id is what is unknown.
pub(super) fn member_code(code: ErrorCode) -> ErrorCode {
    match code {
        ErrorCode::GROUP_ID_NOT_FOUND => ErrorCode::UNKNOWN_MEMBER_ID,
        code => code,
    }
}

/// Whether a broker that lives, but not this one, coordinates the group.
pub(super) fn is_held_by_another(broker: &Broker, group: &str) -> bool {
    let coordinator = broker.view.projection().coordinator(group);
    coordinator.is_some_and(|coordinator| coordinator.broker != broker.id)
}
