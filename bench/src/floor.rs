//! What a bare program needs for the same bytes: the floor under every figure.
//!
//! - [`disk`]: append and sync, the rate B and the sync time S of the disk.
//! - [`loopback`]: receive, sum, append and sync; and send from memory: CPU seconds per GiB.
//! - [`send_file`]: send from a file's pages.

pub mod disk;
pub mod loopback;
pub mod send_file;
