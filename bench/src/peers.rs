//! The brokers that are measured: one process each, pinned to the brokers' core.
//!
//! - A broker's files live in one folder of its own, which goes when the broker is discarded.
//! - A broker that goes out of scope is killed, so that no error leaves one running.
//!
//! Not here: what is measured on them (`compare`).

pub mod broker;
pub mod kafka;
pub mod ports;
pub mod tidemill;

pub use broker::{Broker, BrokerKind};
