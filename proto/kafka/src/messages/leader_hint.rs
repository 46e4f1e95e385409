//! Who leads a partition, told along with an error (KIP-951): shared by Produce and Fetch.

use crate::kstring::KString;

messages! {
    /// The leader of a partition, beside NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH.
    struct LeaderIdAndEpoch {
        /// The broker that leads; -1 if unknown.
        leader_id: i32 [0..] = -1,
        /// The latest known leader epoch.
        leader_epoch: i32 [0..] = -1,
    }

    /// Where a broker named as leader listens.
    struct NodeEndpoint {
        /// The broker.
        node_id: i32 [0..],
        /// Its host name or address.
        host: KString [0..],
        /// Its port.
        port: i32 [0..],
        /// Its rack, if it has one.
        rack: Option<KString> [0..] null [0..],
    }
}
