//! How much a group may hold, and how long its members may take.

/// The limits of a group. The first four are Kafka's broker configs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupLimits {
    /// `group.min.session.timeout.ms`.
    pub session_timeout_min_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub session_timeout_max_ms: i32,
    /// `group.initial.rebalance.delay.ms`: how long the first rebalance of an empty group waits for
    /// more members.
    pub initial_rebalance_delay_ms: i32,
    /// `group.max.size`.
    pub members_max: usize,
    /// Members that were given an id and have not come back with it.
    pub pending_members_max: usize,
    /// Protocols that a member may offer.
    pub protocols_max: usize,
    /// Names and metadata of all protocols of one member, in bytes.
    pub member_metadata_bytes_max: usize,
    /// Everything in a generation's record, in bytes: it has to fit into one command.
    pub generation_bytes_max: usize,
}

impl GroupLimits {
    /// How long a new member may wait in JoinGroup, in milliseconds: a client that is gone cannot be
    /// told from one that waits, and has no session yet.
    pub(super) const NEW_MEMBER_JOIN_TIMEOUT_MS: u64 = 300_000;
    /// After how long a record of an empty generation that failed is tried again, in milliseconds.
    pub(super) const RECORD_RETRY_MS: u64 = 1_000;
    /// The longest client id, instance id, protocol type or protocol name, in bytes.
    pub(super) const NAME_BYTES_MAX: usize = 1_024;
}

impl Default for GroupLimits {
    fn default() -> Self {
        Self {
            session_timeout_min_ms: 6_000,
            session_timeout_max_ms: 1_800_000,
            initial_rebalance_delay_ms: 3_000,
            members_max: 2_000,
            pending_members_max: 2_000,
            protocols_max: 64,
            member_metadata_bytes_max: 256 << 10,
            generation_bytes_max: 960 << 10,
        }
    }
}
