//! Producing: records into batches, batches to leaders, in order and once.
//!
//! The engine decides (batching, order, sequences, retries, expiry); the sender does what it says;
//! [`Producer`] is the handle.
//!
//! Read in this order: [`record`], [`config`], `murmur2`, `partitioner`, `sequencer`, `queue`,
//! `engine`, `sealed`, `sender`, [`delivery`], [`producer`].

pub mod config;
pub mod delivery;
mod engine;
mod murmur2;
mod partitioner;
pub mod producer;
mod queue;
pub mod record;
mod request;
mod sealed;
mod sender;
mod sequencer;
mod shared;

pub use config::{Acks, ProducerConfig};
pub use delivery::Delivery;
pub use producer::Producer;
pub use record::{Record, RecordMetadata};
