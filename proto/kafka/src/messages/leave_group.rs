//! LeaveGroup (13): members leave, or are removed.

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Who leaves.
    message LeaveGroupRequest, versions 0..=5, flexible 4 {
        /// The group.
        group_id: KString [0..],
        /// The member.
        member_id: KString [..=2],
        /// The members.
        members: Vec<MemberIdentity> [3..],
    }

    /// A member that leaves.
    struct MemberIdentity {
        /// Its id; empty to go by the instance id.
        member_id: KString [3..],
        /// The id of a static member.
        group_instance_id: Option<KString> [3..] null [3..],
        /// Why it leaves, for people.
        reason: Option<KString> [5..] null [5..],
    }

    /// What became of it.
    message LeaveGroupResponse, versions 0..=5, flexible 4 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The outcome by member.
        members: Vec<MemberResponse> [3..],
    }

    /// What became of a member.
    struct MemberResponse {
        /// Its id.
        member_id: KString [3..],
        /// The id of a static member.
        group_instance_id: Option<KString> [3..] null [3..],
        /// What went wrong, if anything.
        error_code: ErrorCode [3..],
    }
}
