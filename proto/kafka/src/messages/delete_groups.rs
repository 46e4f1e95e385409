//! DeleteGroups (42).

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Groups to delete.
    message DeleteGroupsRequest, versions 0..=2, flexible 2 {
        /// The groups.
        groups_names: Vec<KString> [0..],
    }

    /// What became of them.
    message DeleteGroupsResponse, versions 0..=2, flexible 2 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [0..],
        /// The outcome by group.
        results: Vec<DeletableGroupResult> [0..],
    }

    /// What became of a group.
    struct DeletableGroupResult {
        /// The group.
        group_id: KString [0..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
    }
}
