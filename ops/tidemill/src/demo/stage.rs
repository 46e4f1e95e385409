//! What every act of the demo needs.

use tidemill_client::Client;

/// The topic of the shop's events.
pub(super) const TOPIC: &str = "shop.orders";

/// How many partitions it has.
pub(super) const PARTITIONS: i32 = 12;

/// What every act of the demo needs.
pub(super) struct Stage {
    /// The way to the server.
    pub(super) client: Client,
    /// How many events are produced.
    pub(super) events: u64,
    /// How many customers the shop has.
    pub(super) customers: u64,
    /// What the events follow from.
    pub(super) seed: u64,
}
