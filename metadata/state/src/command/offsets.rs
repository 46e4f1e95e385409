//! Commands about the offsets that groups commit.

use tidemill_base::{GroupEpoch, GroupGeneration, LeaderEpoch, Offset, PartitionIndex, TopicId};

use crate::codec::encoded;

encoded! {
    /// Who commits within a group.
    pub struct Committer {
        /// The generation it knows.
        pub generation: GroupGeneration,
        /// Its member id.
        pub member_id: String,
    }

    /// One offset to commit.
    pub struct OffsetCommit {
        /// The topic.
        pub topic: TopicId,
        /// The partition of the topic.
        pub partition: PartitionIndex,
        /// The next offset to read.
        pub offset: Offset,
        /// The leader epoch of the record before it, if the client knows it.
        pub leader_epoch: Option<LeaderEpoch>,
        /// What the client wants to be told again.
        pub metadata: String,
    }

    /// Commits offsets of a group.
    pub struct CommitOffsets {
        /// The group.
        pub group: String,
        /// The coordinator's claim.
        pub epoch: GroupEpoch,
        /// Who commits; `None` for a consumer outside any generation, which only a group without
        /// members admits.
        pub committer: Option<Committer>,
        /// The offsets.
        pub offsets: Vec<OffsetCommit>,
    }

    /// Deletes committed offsets (OffsetDelete). That no member subscribes to the topics is for
    /// the coordinator to check.
    pub struct DeleteOffsets {
        /// The group.
        pub group: String,
        /// The coordinator's claim.
        pub epoch: GroupEpoch,
        /// Whose offsets.
        pub partitions: Vec<(TopicId, PartitionIndex)>,
    }

    /// Drops the offsets of groups without members that have expired by state time, and the groups
    /// that hold nothing any more.
    pub struct ExpireOffsets {
        /// How long offsets are kept (`offsets.retention.minutes`), in milliseconds.
        pub retention_ms: i64,
        /// The groups to look at.
        pub groups: Vec<String>,
    }
}
