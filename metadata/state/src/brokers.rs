//! Brokers and their registrations.

use std::collections::BTreeMap;

use tidemill_base::{BrokerEpoch, BrokerId};

use crate::codec::encoded;
use crate::command::Listener;

encoded! {
    /// A broker's registration.
    pub struct Broker {
        /// The broker.
        pub id: BrokerId,
        /// Its epoch; older ones are fenced.
        pub epoch: BrokerEpoch,
        /// Whether this epoch is fenced as well.
        pub fenced: bool,
        /// Where clients reach it, the first being the default.
        pub listeners: Vec<Listener>,
        /// Its zone.
        pub zone: Option<String>,
        /// Its HTTP address.
        pub http_address: Option<String>,
        /// The highest feature level it supports.
        pub feature_level_max: u16,
    }
}

/// The table of brokers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Brokers(pub(crate) BTreeMap<BrokerId, Broker>);

impl Brokers {
    /// Whether that registration is the broker's present one, and not fenced.
    pub(crate) fn is_live(&self, broker: BrokerId, epoch: BrokerEpoch) -> bool {
        self.0.get(&broker).is_some_and(|known| known.epoch == epoch && !known.fenced)
    }
}
