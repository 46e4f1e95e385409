//! SyncGroup (14): the leader hands in the assignment, every member gets its part.

use bytes::Bytes;

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// A member that waits for its assignment; from the leader with everyone's.
    message SyncGroupRequest, versions 0..=5, flexible 4 {
        /// The group.
        group_id: KString [0..],
        /// The generation.
        generation_id: i32 [0..],
        /// The member.
        member_id: KString [0..],
        /// The id of a static member.
        group_instance_id: Option<KString> [3..] null [3..],
        /// The kind of protocol.
        protocol_type: Option<KString> [5..] null [5..],
        /// The protocol chosen.
        protocol_name: Option<KString> [5..] null [5..],
        /// Every member's assignment, from the leader; empty from others.
        assignments: Vec<SyncGroupRequestAssignment> [0..],
    }

    /// A member's assignment.
    struct SyncGroupRequestAssignment {
        /// The member.
        member_id: KString [0..],
        /// Its assignment.
        assignment: Bytes [0..],
    }

    /// The member's assignment.
    message SyncGroupResponse, versions 0..=5, flexible 4 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The kind of protocol.
        protocol_type: Option<KString> [5..] null [5..],
        /// The protocol chosen.
        protocol_name: Option<KString> [5..] null [5..],
        /// The assignment.
        assignment: Bytes [0..],
    }
}
