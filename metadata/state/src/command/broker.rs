//! Commands about brokers: registering and fencing.

use tidemill_base::{BrokerEpoch, BrokerId};

use crate::codec::encoded;

encoded! {
    /// An address under which clients reach a broker.
    pub struct Listener {
        /// The listener's name, as in Kafka's `advertised.listeners`.
        pub name: String,
        /// Host name or address.
        pub host: String,
        /// Port.
        pub port: u16,
    }

    /// Gives a broker a new epoch. Everything of its older epochs is fenced: their lanes are raised
    /// to the maximum, their outcomes dropped, their files sealed.
    pub struct RegisterBroker {
        /// The broker.
        pub broker: BrokerId,
        /// Where clients reach it, the first being the default.
        pub listeners: Vec<Listener>,
        /// Its zone (`broker.rack`).
        pub zone: Option<String>,
        /// Its HTTP address (`tidemill.http.address`).
        pub http_address: Option<String>,
        /// The highest feature level it supports.
        pub feature_level_max: u16,
    }

    /// Fences a broker whose session has ended, as registering it anew would.
    pub struct FenceBroker {
        /// The broker.
        pub broker: BrokerId,
        /// The epoch that ended; a newer one is not touched.
        pub epoch: BrokerEpoch,
    }
}

impl RegisterBroker {
    /// The most listeners of one broker.
    pub const LISTENERS_MAX: usize = 16;
    /// The longest name, host, zone or address, in bytes.
    pub const TEXT_BYTES_MAX: usize = 255;

    /// Whether it stays within those bounds.
    pub(crate) fn is_bounded(&self) -> bool {
        let listeners = self.listeners.iter().flat_map(|known| [&known.name, &known.host]);
        let mut texts = listeners.chain(&self.zone).chain(&self.http_address);
        self.listeners.len() <= Self::LISTENERS_MAX
            && texts.all(|text| text.len() <= Self::TEXT_BYTES_MAX)
    }
}
