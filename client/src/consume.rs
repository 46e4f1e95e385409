//! Consuming: from partitions given by hand or by a group, in batches of records.
//!
//! What is read, from where and what came is pure; [`Consumer`] asks brokers and waits.
//!
//! Read in this order: [`record`], [`trouble`], [`config`], `unpack`, `buffer`, `assignment`, `fetch`,
//! [`consumer`], `grouping`, `work`.

mod assignment;
mod buffer;
pub mod config;
pub mod consumer;
mod fetch;
mod grouping;
pub mod record;
pub mod trouble;
mod unpack;
mod work;

pub use config::{AutoOffsetReset, ConsumerConfig, IsolationLevel};
pub use consumer::Consumer;
pub use record::ConsumerRecord;
pub use trouble::Trouble;
