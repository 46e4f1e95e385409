//! Commands about consumer groups: claims, generations, deletion.

use bytes::Bytes;
use tidemill_base::{BrokerEpoch, BrokerId, GroupEpoch, GroupGeneration};

use crate::codec::encoded;

encoded! {
    /// Makes a broker the coordinator of a group, unless another that lives already is.
    pub struct ClaimGroup {
        /// The group.
        pub group: String,
        /// Who claims it.
        pub broker: BrokerId,
        /// Under which registration.
        pub epoch: BrokerEpoch,
    }

    /// A member of a completed generation.
    pub struct Member {
        /// The id the coordinator gave it.
        pub member_id: String,
        /// Its `group.instance.id`, if it is static.
        pub instance_id: Option<String>,
        /// Its `client.id`.
        pub client_id: String,
        /// The address it came from.
        pub client_host: String,
        /// How long a rebalance waits for it.
        pub rebalance_timeout_ms: i32,
        /// How long it may be silent.
        pub session_timeout_ms: i32,
        /// What it said of itself under the chosen protocol.
        pub subscription: Bytes,
        /// What it was assigned.
        pub assignment: Bytes,
    }

    /// One completed rebalance: who is in the group and what each was assigned.
    pub struct Generation {
        /// Its number.
        pub generation: GroupGeneration,
        /// The kind of group: `consumer` for consumers.
        pub protocol_type: String,
        /// The assignment protocol chosen; `None` when the group is empty.
        pub protocol: Option<String>,
        /// The member that assigned; `None` when the group is empty.
        pub leader: Option<String>,
        /// The members; none when the last has left.
        pub members: Vec<Member>,
    }

    /// Records a completed generation, so that another coordinator can go on without a rebalance.
    pub struct CompleteGeneration {
        /// The group.
        pub group: String,
        /// The coordinator's claim.
        pub epoch: GroupEpoch,
        /// The generation; above the one recorded, or the same with other processes in the places
        /// of static members. The same again is answered alike.
        pub generation: Generation,
    }

    /// Deletes groups that have no members.
    pub struct DeleteGroups {
        /// The groups.
        pub groups: Vec<String>,
    }
}

impl Generation {
    /// Whether it is `known` with static members that came back under new ids. Who has joined and
    /// what each was assigned is the same.
    pub(crate) fn amends(&self, known: &Self) -> bool {
        let same_place = |(new, old): (&Member, &Member)| {
            new.assignment == old.assignment
                && new.instance_id == old.instance_id
                && (new.member_id == old.member_id || new.instance_id.is_some())
        };
        self.generation == known.generation
            && self.protocol == known.protocol
            && self.members.len() == known.members.len()
            && self.members.iter().zip(&known.members).all(same_place)
    }
}
