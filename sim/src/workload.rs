//! What clients do.

pub mod admin;
pub mod consumer;
pub mod groups;
pub mod idempotent;
pub mod late_offsets;
pub mod low_on_space;
pub mod orphans;
pub mod plain;
pub mod requests;
pub mod zombie;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::history::History;
use crate::invariants::groups::GroupLedger;
use crate::rare_events::RareEvents;
use crate::world::chance::Chance;
use crate::world::gateway::Gateway;
use crate::world::lives::Lives;

/// What every client of a run shares.
#[derive(Clone)]
pub struct Clients {
    /// The node's lives.
    pub lives: Lives,
    /// What was observed.
    pub history: History,
    /// What the consumer group was asked and answered.
    pub groups: GroupLedger,
    /// The run's chance.
    pub chance: Chance,
    /// Counts of rare things.
    pub rare_events: RareEvents,
    /// Set when clients shall finish what they have begun and end.
    pub ending: Arc<AtomicBool>,
}

impl Clients {
    /// Whether clients shall end.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// A way to the node for one client.
    #[must_use]
    pub fn gateway(&self) -> Gateway {
        Gateway::new(self.lives.clone(), self.chance.clone())
    }
}

/// The topics that always exist, with their partitions.
pub const LASTING_TOPICS: &[(&str, i32)] = &[("orders", 3), ("payments", 1)];
/// The topic that is deleted and created again under load.
pub const FLEETING_TOPIC: (&str, i32) = ("sessions", 2);
