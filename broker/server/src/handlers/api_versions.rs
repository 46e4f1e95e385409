//! ApiVersions: what is served. The one list is `API_TABLE` of the wire codec.

use std::sync::Arc;

use tidemill_kafka::ErrorCode;
use tidemill_kafka::messages::{ApiVersionsRequest, ApiVersionsResponse};

use crate::broker::Broker;
use crate::kafka_service::Context;

/// The longest software name or version that is accepted, as in Kafka's pattern.
const SOFTWARE_NAME_BYTES_MAX: usize = 256;

pub(crate) async fn handle(
    _: Arc<Broker>,
    context: Context,
    request: ApiVersionsRequest,
) -> ApiVersionsResponse {
    let names = [&request.client_software_name, &request.client_software_version];
    if context.version >= 3 && !names.iter().all(|name| is_software_name(name)) {
        return ApiVersionsResponse {
            error_code: ErrorCode::INVALID_REQUEST,
            ..ApiVersionsResponse::default()
        };
    }
    ApiVersionsResponse::served()
}

/// KIP-511: letters, digits, dashes and dots, beginning and ending with a letter or digit.
fn is_software_name(name: &str) -> bool {
    let ends = [name.bytes().next(), name.bytes().last()];
    name.len() <= SOFTWARE_NAME_BYTES_MAX
        && ends.iter().all(|end| end.is_some_and(|byte| byte.is_ascii_alphanumeric()))
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
}
