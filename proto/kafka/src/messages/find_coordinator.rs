//! FindCoordinator (10): which broker coordinates a group or a transaction.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

/// The key type of groups.
pub const KEY_TYPE_GROUP: i8 = 0;
/// The key type of transactional ids.
pub const KEY_TYPE_TRANSACTION: i8 = 1;
/// The key type of share groups' partitions.
pub const KEY_TYPE_SHARE: i8 = 2;

messages! {
    /// Whose coordinator to tell.
    message FindCoordinatorRequest, versions 0..=6, flexible 3 {
        /// The group or transactional id.
        key: KString [..=3],
        /// 0: group, 1: transaction, 2: share group.
        key_type: i8 [1..],
        /// The groups or transactional ids.
        coordinator_keys: Vec<KString> [4..],
    }

    /// The coordinators.
    message FindCoordinatorResponse, versions 0..=6, flexible 3 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
        /// What went wrong, if anything.
        error_code: ErrorCode [..=3],
        /// Why, for people.
        error_message: Option<KString> [1..=3] null [1..=3],
        /// The broker that coordinates.
        node_id: i32 [..=3],
        /// Its host name or address.
        host: KString [..=3],
        /// Its port.
        port: i32 [..=3],
        /// The coordinators by key.
        coordinators: Vec<Coordinator> [4..],
    }

    /// The coordinator of a key.
    struct Coordinator {
        /// The group or transactional id.
        key: KString [4..],
        /// The broker that coordinates it.
        node_id: i32 [4..],
        /// Its host name or address.
        host: KString [4..],
        /// Its port.
        port: i32 [4..],
        /// What went wrong, if anything.
        error_code: ErrorCode [4..],
        /// Why, for people.
        error_message: Option<KString> [4..] null [4..],
    }
}
