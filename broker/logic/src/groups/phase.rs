//! Where a group stands between two generations.

/// The state of a group, with Kafka's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// No members.
    Empty,
    /// Waiting for the members to join.
    PreparingRebalance {
        /// When the rebalance goes on without those that have not joined, in milliseconds.
        deadline_ms: u64,
        /// Set while an empty group waits for more members than the first.
        initial: Option<InitialDelay>,
    },
    /// Waiting for the leader's assignment, and for its record.
    CompletingRebalance,
    /// Every member has, or can get, its assignment.
    Stable,
    /// Not here any more: deleted, or taken over by another coordinator.
    Dead,
}

/// The delay of the first rebalance, which each new member prolongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InitialDelay {
    /// How much longer it may become, in milliseconds.
    pub(super) remaining_ms: u64,
    /// A member came since the deadline was set.
    pub(super) member_added: bool,
}

impl Phase {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance { .. } => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}
