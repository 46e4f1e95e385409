//! How large each table of the state may grow.
//!
//! Limits are part of the state, since every member must refuse alike.

use crate::codec::encoded;

encoded! {
    /// The limits of the state's tables. What would pass one is refused (throttled).
    #[derive(Copy)]
    pub struct Limits {
        /// Objects of one lane whose outcomes its broker has not received.
        pub commits_in_flight_max: u32,
        /// (producer, partition) entries.
        pub producer_entries_max: u64,
        /// Entries (extents and folded ones) of all partitions.
        pub log_entries_max: u64,
        /// Files known, garbage included.
        pub files_max: u32,
        /// Topics.
        pub topics_max: u32,
        /// Partitions of all topics.
        pub partitions_max: u32,
        /// Brokers ever registered.
        pub brokers_max: u32,
        /// Lanes of live brokers.
        pub lanes_max: u32,
        /// Groups.
        pub groups_max: u32,
        /// Committed offsets of all groups.
        pub offsets_max: u64,
        /// Bytes of all groups: names, members, offsets with their metadata.
        pub group_bytes_max: u64,
    }
}

/// The most files that a state can tell apart, whatever its limits say.
pub(crate) const SLOTS_MAX: u32 = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            commits_in_flight_max: 64,
            producer_entries_max: 1_000_000,
            log_entries_max: 8_000_000,
            files_max: SLOTS_MAX,
            topics_max: 100_000,
            partitions_max: 200_000,
            brokers_max: 10_000,
            lanes_max: 16_384,
            groups_max: 100_000,
            offsets_max: 1_000_000,
            group_bytes_max: 256 << 20,
        }
    }
}
