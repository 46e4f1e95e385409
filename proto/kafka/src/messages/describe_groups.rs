//! DescribeGroups (15): the members of groups.

use bytes::Bytes;

use crate::error_code::ErrorCode;
use crate::kstring::KString;
use crate::messages::metadata::OPERATIONS_UNKNOWN;

messages! {
    /// Groups to describe.
    message DescribeGroupsRequest, versions 0..=6, flexible 5 {
        /// The groups.
        groups: Vec<KString> [0..],
        /// Whether to tell what the client may do with them.
        include_authorized_operations: bool [3..],
    }

    /// The groups.
    message DescribeGroupsResponse, versions 0..=6, flexible 5 {
        /// For how long the broker will not read from this connection.
        throttle_time_ms: i32 [1..],
        /// The groups.
        groups: Vec<DescribedGroup> [0..],
    }

    /// A group.
    struct DescribedGroup {
        /// What went wrong, if anything.
        error_code: ErrorCode [0..],
        /// Why, for people.
        error_message: Option<KString> [6..] null [6..],
        /// The group.
        group_id: KString [0..],
        /// Its state: Empty, PreparingRebalance, CompletingRebalance, Stable or Dead.
        group_state: KString [0..],
        /// The kind of protocol; empty if it has none.
        protocol_type: KString [0..],
        /// The protocol chosen; empty if none is.
        protocol_data: KString [0..],
        /// Its members.
        members: Vec<DescribedGroupMember> [0..],
        /// What the client may do with it, as a set of bits.
        authorized_operations: i32 [3..] = OPERATIONS_UNKNOWN,
    }

    /// A member.
    struct DescribedGroupMember {
        /// Its id.
        member_id: KString [0..],
        /// The id of a static member.
        group_instance_id: Option<KString> [4..] null [4..],
        /// What its client calls itself.
        client_id: KString [0..],
        /// Its client's address.
        client_host: KString [0..],
        /// Its data for the protocol chosen.
        member_metadata: Bytes [0..],
        /// Its assignment.
        member_assignment: Bytes [0..],
    }
}
