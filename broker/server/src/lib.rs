//! The Kafka listener, one handler for each API, and the node that ties log and metadata together.
//!
//! Read in this order: [`node`] (what a process starts), [`listener`] and [`service`] (bytes to frames),
//! [`kafka_service`] (frames to requests), `handlers` (one file per API), [`view`] (the projection and
//! who waits for it), [`log_reads`] (batches), [`commits`] (the way from a flush to the metadata).

pub mod authorization;
pub mod broker;
mod broker_defaults;
pub mod budget;
mod byte_cache;
pub mod commits;
pub mod config_entries;
pub mod groups;
mod handlers;
mod holdings;
mod housekeeping;
pub mod kafka_service;
mod lending;
pub mod listener;
pub mod log_bytes;
pub mod log_reads;
pub mod node;
pub mod producer_ids;
pub mod random_ids;
mod record_checks;
pub mod refusals;
pub mod request_metrics;
pub mod service;
mod time_search;
pub mod view;
