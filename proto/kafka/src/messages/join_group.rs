//! JoinGroup (11): a member asks to be in the next generation of a group.

use bytes::Bytes;

use crate::error_code::ErrorCode;
use crate::kstring::KString;

messages! {
    /// Who wants to join, and as what.
    message JoinGroupRequest, versions 0..=9, flexible 6 {
        /// The group.
        group_id: KString [0..],
        /// After how long without a heartbeat the member is dead.
        session_timeout_ms: i32 [0..],
        /// How long the group waits for its members to join; -1 in version 0, which means the session
        /// timeout.
        rebalance_timeout_ms: i32 [1..] = -1,
        /// The member's id; empty to get one.
        member_id: KString [0..],
        /// The id of a static member.
        group_instance_id: Option<KString> [5..] null [5..],
        /// The kind of protocol: "consumer" for consumers.
        protocol_type: KString [0..],
        /// The protocols (assignors) that the member can, best first.
        protocols: Vec<JoinGroupRequestProtocol> [0..],
        /// Why it joins, for people.
        reason: Option<KString> [8..] null [8..],
    }

    /// A protocol that the member can.
    struct JoinGroupRequestProtocol {
        /// Its name.
        name: KString [0..],
        /// The member's data for it.
        metadata: Bytes [0..],
    }

    /// The new generation.
    message JoinGroupResponse, versions 0..=9, flexible 6 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [2..],
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// The generation.
        generation_id: i32 [0..] = -1,
        /// The kind of protocol.
        protocol_type: Option<KString> [7..] null [7..],
        /// The protocol chosen.
        protocol_name: Option<KString> [0..] null [7..],
        /// The member that assigns.
        leader: KString [0..],
        /// Whether the leader must not assign again.
        skip_assignment: bool [9..],
        /// The member's own id.
        member_id: KString [0..],
        /// All members, for the leader; empty for others.
        members: Vec<JoinGroupResponseMember> [0..],
    }

    /// A member, as told to the leader.
    struct JoinGroupResponseMember {
        /// Its id.
        member_id: KString [0..],
        /// The id of a static member.
        group_instance_id: Option<KString> [5..] null [5..],
        /// Its data for the protocol chosen.
        metadata: Bytes [0..],
    }
}
