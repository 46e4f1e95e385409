//! The client against scripted brokers in this process, over loopback TCP.
//!
//! The brokers keep real batches and judge sequences as Kafka does; a test tells them which requests
//! to spoil and how. What is checked is what was stored, what the application was told, and which
//! requests were made; never how long it took.

#![expect(clippy::unwrap_used, reason = "all of this is test code")]

mod cluster;
mod connections;
mod consuming;
mod groups;
mod log;
mod producing;
mod serve;
