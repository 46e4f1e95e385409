//! The settings of a producer.

use tidemill_base::ErrorKind;
use tidemill_records::Codec;

use crate::config::{ClientConfig, in_range};
use crate::error::{Error, Result};

/// When a record counts as delivered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Acks {
    /// When it has been written to the socket: it may be lost, and its offset is not known.
    None,
    /// When the leader has it. A Tidemill broker treats this as [`Acks::All`].
    Leader,
    /// When all replicas in sync have it; from a Tidemill broker: when it is durable.
    #[default]
    All,
}

impl Acks {
    /// Kafka's number.
    #[must_use]
    pub fn number(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

/// The settings of a [`crate::Producer`]. Times are milliseconds, sizes bytes before compression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProducerConfig {
    /// When a record counts as delivered. Default: all.
    pub acks: Acks,
    /// Whether each record is stored once and in order whatever is tried again. Needs
    /// [`Acks::All`]. Without it, one batch of a partition is on its way at a time, and what is
    /// tried again may be stored twice. Default: true.
    pub idempotent: bool,
    /// The codec of new batches. Default: none.
    pub codec: Codec,
    /// How large a batch may become. A larger record goes in a batch of its own. 1 to
    /// `request_bytes_max`; default 16,384.
    pub batch_bytes_max: usize,
    /// How long a batch waits for more records. More means fewer, fuller batches. 0 to 60,000;
    /// default 5.
    pub linger_ms: u64,
    /// How large a request may become, and so the largest record. The topic's `max.message.bytes`
    /// (1 MiB by default) limits batches as well. 1,024 to 1 GiB; default 1 MiB.
    pub request_bytes_max: usize,
    /// How many bytes may wait for delivery; beyond, [`crate::Producer::send`] waits. At least
    /// `request_bytes_max`, at most 2 GiB - 1; default 32 MiB.
    pub buffer_bytes_max: usize,
    /// How long `send` may wait for metadata and for room. 1 to 3,600,000; default 60,000.
    pub send_block_ms_max: u64,
    /// After how long a record that could not be delivered fails, linger and retries included. A
    /// request that is then on its way is waited for, up to the client's `request_timeout_ms`
    /// more. At least `linger_ms`, at most 86,400,000; default 120,000.
    pub delivery_timeout_ms: u64,
    /// Whether topics that do not exist may be created by the broker. Default: true.
    pub create_topics: bool,
}

impl Default for ProducerConfig {
    fn default() -> Self {
        Self {
            acks: Acks::All,
            idempotent: true,
            codec: Codec::None,
            batch_bytes_max: 16 * 1024,
            linger_ms: 5,
            request_bytes_max: 1024 * 1024,
            buffer_bytes_max: 32 * 1024 * 1024,
            send_block_ms_max: 60_000,
            delivery_timeout_ms: 120_000,
            create_topics: true,
        }
    }
}

/// How many batches of a partition a broker keeps to recognise a repeated one.
const IDEMPOTENT_IN_FLIGHT_MAX: usize = 5;

impl ProducerConfig {
    /// Checks every range, and what does not go together.
    ///
    /// # Errors
    /// `Invalid`, naming the setting.
    pub fn validate(&self) -> Result<()> {
        const GIB: u64 = 1024 * 1024 * 1024;
        let request_bytes = self.request_bytes_max as u64;
        in_range("request_bytes_max", request_bytes, 1_024, GIB)?;
        in_range("batch_bytes_max", self.batch_bytes_max as u64, 1, request_bytes)?;
        let buffer_bytes = self.buffer_bytes_max as u64;
        in_range("buffer_bytes_max", buffer_bytes, request_bytes, 2 * GIB - 1)?;
        in_range("linger_ms", self.linger_ms, 0, 60_000)?;
        in_range("send_block_ms_max", self.send_block_ms_max, 1, 3_600_000)?;
        let least = self.linger_ms.max(1);
        in_range("delivery_timeout_ms", self.delivery_timeout_ms, least, 86_400_000)?;
        if self.idempotent && self.acks != Acks::All {
            let message = "idempotent needs acks all; set acks to all or idempotent to false";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(())
    }

    /// How many batches of one partition may be on their way.
    pub(crate) fn partition_in_flight_max(&self, client: &ClientConfig) -> usize {
        match (self.idempotent, self.acks) {
            (true, _) => client.in_flight_max.min(IDEMPOTENT_IN_FLIGHT_MAX),
            (false, Acks::None) => client.in_flight_max,
            (false, _) => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert!(ProducerConfig::default().validate().is_ok());
    }

    #[test]
    fn idempotence_without_all_acks_is_refused() {
        let config = ProducerConfig { acks: Acks::Leader, ..ProducerConfig::default() };
        assert_eq!(config.validate().unwrap_err().kind(), ErrorKind::Invalid);
        let config = ProducerConfig { idempotent: false, ..config };
        assert!(config.validate().is_ok());
    }

    #[test]
    fn a_batch_larger_than_a_request_is_refused_by_name() {
        let config = ProducerConfig { batch_bytes_max: 2 << 20, ..ProducerConfig::default() };
        assert!(config.validate().unwrap_err().to_string().contains("batch_bytes_max"));
    }
}
