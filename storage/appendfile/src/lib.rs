//! Appending to files so that a torn tail is always found and never mistaken for data.
//!
//! Read in this order: [`disk`] (the port), [`frame`] (the format, pure), [`scan`] (reading it back),
//! [`append_file`] (writing it), [`real_disk`] (the adapter), `twin` (the adapters of the
//! simulation, with the cargo feature `twin`).

pub mod append_file;
pub mod disk;
pub mod frame;
pub mod fuzz;
pub mod real_disk;
pub mod scan;
#[cfg(any(test, feature = "twin"))]
pub mod twin;

pub use append_file::{AppendFile, FrameParts, FramePlace};
pub use disk::{Disk, DiskEntry, DiskError, ReadFile, SharedDisk, WriteFile};
pub use frame::{Covered, FRAME_HEAD_BYTES, FileHeader, FrameSeal, HEADER_BYTES};
pub use real_disk::RealDisk;
pub use scan::{FrameScan, ScanEnd, ScannedFrame, TailVerdict, TornReason};
