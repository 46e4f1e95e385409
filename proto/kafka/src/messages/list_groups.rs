//! ListGroups (16): the groups that a broker coordinates.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Which groups to list.
    message ListGroupsRequest, versions 0..=5, flexible 3 {
        /// Only groups in these states; empty for all.
        states_filter: Vec<KString> [4..],
        /// Only groups of these types ("classic", "consumer"); empty for all.
        types_filter: Vec<KString> [5..],
    }

    /// The groups.
    message ListGroupsResponse, versions 0..=5, flexible 3 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The groups.
        groups: Vec<ListedGroup> [0..],
    }

    /// A group.
    struct ListedGroup {
        /// The group.
        group_id: KString [0..],
        /// The kind of protocol.
        protocol_type: KString [0..],
        /// Its state.
        group_state: KString [4..],
        /// Its type: "classic" or "consumer".
        group_type: KString [5..],
    }
}
