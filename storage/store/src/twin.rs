//! The store of the simulation that spoils another store's calls.
//!
//! Compiled only for tests and with the cargo feature `twin`, never into a released binary. The
//! stores in memory are a [`FileLogStore`](crate::FileLogStore) over the disk in memory of
//! `tidemill-appendfile`, and an [`ObjectLogStore`](crate::ObjectLogStore) over
//! `object_store::memory::InMemory`.

pub mod faulty_log_store;

pub use faulty_log_store::{FaultyLogStore, StoreToxic};
