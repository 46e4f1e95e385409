//! DescribeCluster (60): the brokers, for administrative clients.

use crate::error_code::ErrorCode;
use crate::kstring::KString;
use crate::messages::metadata::OPERATIONS_UNKNOWN;

/// The endpoint type of brokers.
pub const ENDPOINT_BROKERS: i8 = 1;

messages! {
    /// Asks for the brokers.
    message DescribeClusterRequest, versions 0..=2, flexible 0 {
        /// Whether to tell what the client may do with the cluster.
        include_cluster_authorized_operations: bool [0..],
        /// 1: brokers, 2: controllers.
        endpoint_type: i8 [1..] = ENDPOINT_BROKERS,
        /// Whether to tell fenced brokers too.
        include_fenced_brokers: bool [2..],
    }

    /// The brokers.
    message DescribeClusterResponse, versions 0..=2, flexible 0 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// Why, for people.
        error_message: Option<KString> [0..] null [0..],
        /// 1: brokers, 2: controllers.
        endpoint_type: i8 [1..] = ENDPOINT_BROKERS,
        /// The cluster's id.
        cluster_id: KString [0..],
        /// The broker that takes administrative requests; -1 if unknown.
        controller_id: i32 [0..] = -1,
        /// The brokers.
        brokers: Vec<DescribeClusterBroker> [0..],
        /// What the client may do with the cluster, as a set of bits.
        cluster_authorized_operations: i32 [0..] = OPERATIONS_UNKNOWN,
    }

    /// A broker.
    struct DescribeClusterBroker {
        /// The broker.
        broker_id: i32 [0..],
        /// Its host name or address.
        host: KString [0..],
        /// Its port.
        port: i32 [0..],
        /// Its rack, if it has one.
        rack: Option<KString> [0..] null [0..],
        /// Whether it is fenced.
        is_fenced: bool [2..],
    }
}
