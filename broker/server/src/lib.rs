//! The Kafka listener, one handler for each API, and the node that ties log and metadata together.

pub mod service;
pub mod budget;
pub mod listener;
