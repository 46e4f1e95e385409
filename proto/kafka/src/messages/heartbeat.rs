//! Heartbeat (12): a member of a group lives.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Who lives.
    message HeartbeatRequest, versions 0..=4, flexible 4 {
        /// The group.
        group_id: KString [0..],
        /// The generation.
        generation_id: i32 [0..],
        /// The member.
        member_id: KString [0..],
        /// The id of a static member.
        group_instance_id: Option<KString> [3..] null [3..],
    }

    /// Whether it is still a member.
    message HeartbeatResponse, versions 0..=4, flexible 4 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
        /// What went wrong, if anything; REBALANCE_IN_PROGRESS asks the member to join again.
        error_code: ErrorCode [0..],
    }
}
