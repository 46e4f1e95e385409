//! Log stores, the log writer and reader, the hot cache and the garbage collector.

pub mod log_store;

pub use log_store::{LogStore, Shape, SharedLogStore, StoreError, StoredFile};
