//! What all parts of a client share: where the cluster is, who the client says it is, and how long
//! it waits.

use crate::error::{Error, Result};
use tidemill_base::ErrorKind;

/// The settings of a [`crate::Client`]. Times are milliseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientConfig {
    /// Brokers to begin with, as `HOST:PORT`, several separated by commas. IPv6 hosts stand in
    /// brackets. The others are found through them.
    pub bootstrap_servers: String,
    /// What the client calls itself in the broker's logs and metrics.
    pub client_id: String,
    /// How long a connection may take to be made, its first exchange included. 1 to 3,600,000;
    /// default 10,000.
    pub connect_timeout_ms: u64,
    /// How long a broker may take to answer one request. What the broker holds back on purpose
    /// (fetches, joining a group) may take as much longer as was asked for. A broker that takes
    /// longer loses the connection. 1 to 3,600,000; default 30,000.
    pub request_timeout_ms: u64,
    /// How long a call may take with all its attempts, where the call has no setting of its own.
    /// 1 to 3,600,000; default 60,000.
    pub api_timeout_ms: u64,
    /// The wait before the second attempt of a request; it doubles with each attempt. 1 to 60,000;
    /// default 100.
    pub retry_backoff_ms: u64,
    /// The longest wait between attempts of a request. At least `retry_backoff_ms`; default 1,000.
    pub retry_backoff_max_ms: u64,
    /// The wait before a second attempt to connect to a broker; it doubles with each. 1 to 60,000;
    /// default 50.
    pub reconnect_backoff_ms: u64,
    /// The longest wait between attempts to connect. At least `reconnect_backoff_ms`; default
    /// 1,000.
    pub reconnect_backoff_max_ms: u64,
    /// After how long metadata is read again though nothing went wrong, which is how new
    /// partitions are found. 100 to 3,600,000; default 300,000.
    pub metadata_age_max_ms: u64,
    /// How many requests may wait for their answers on one connection. 1 to 1,000; default 5,
    /// beyond which an idempotent producer cannot go.
    pub in_flight_max: usize,
    /// The largest answer that is read; a larger one closes the connection. 1 MiB to 2 GiB - 1;
    /// default 100 MiB.
    pub frame_bytes_max: usize,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            bootstrap_servers: "127.0.0.1:9092".to_owned(),
            client_id: "tidemill".to_owned(),
            connect_timeout_ms: 10_000,
            request_timeout_ms: 30_000,
            api_timeout_ms: 60_000,
            retry_backoff_ms: 100,
            retry_backoff_max_ms: 1_000,
            reconnect_backoff_ms: 50,
            reconnect_backoff_max_ms: 1_000,
            metadata_age_max_ms: 300_000,
            in_flight_max: 5,
            frame_bytes_max: 100 * 1024 * 1024,
        }
    }
}

impl ClientConfig {
    /// The defaults, with these brokers to begin with.
    #[must_use]
    pub fn new(bootstrap_servers: impl Into<String>) -> Self {
        Self { bootstrap_servers: bootstrap_servers.into(), ..Self::default() }
    }

    /// Checks every range and the form of the brokers' addresses.
    ///
    /// # Errors
    /// `Invalid`, naming the setting.
    pub fn validate(&self) -> Result<()> {
        const HOUR_MS: u64 = 3_600_000;
        in_range("connect_timeout_ms", self.connect_timeout_ms, 1, HOUR_MS)?;
        in_range("request_timeout_ms", self.request_timeout_ms, 1, HOUR_MS)?;
        in_range("api_timeout_ms", self.api_timeout_ms, 1, HOUR_MS)?;
        in_range("retry_backoff_ms", self.retry_backoff_ms, 1, 60_000)?;
        let least = self.retry_backoff_ms;
        in_range("retry_backoff_max_ms", self.retry_backoff_max_ms, least, HOUR_MS)?;
        in_range("reconnect_backoff_ms", self.reconnect_backoff_ms, 1, 60_000)?;
        let least = self.reconnect_backoff_ms;
        in_range("reconnect_backoff_max_ms", self.reconnect_backoff_max_ms, least, HOUR_MS)?;
        in_range("metadata_age_max_ms", self.metadata_age_max_ms, 100, HOUR_MS)?;
        in_range("in_flight_max", self.in_flight_max as u64, 1, 1_000)?;
        let frame_bytes = (1024 * 1024, i32::MAX as u64);
        in_range("frame_bytes_max", self.frame_bytes_max as u64, frame_bytes.0, frame_bytes.1)?;
        crate::cluster::endpoint::Endpoint::parse_list(&self.bootstrap_servers).map(drop)
    }
}

/// Refuses a setting outside its range.
pub(crate) fn in_range(name: &str, value: u64, least: u64, most: u64) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let message = format!("{name} is {value}, it must be from {least} to {most}");
    Err(Error::new(ErrorKind::Invalid, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid() {
        assert!(ClientConfig::default().validate().is_ok());
    }

    #[test]
    fn a_setting_outside_its_range_is_refused_by_name() {
        let config = ClientConfig { in_flight_max: 0, ..ClientConfig::default() };
        let error = config.validate().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(error.to_string(), "in_flight_max is 0, it must be from 1 to 1000");
    }
}
