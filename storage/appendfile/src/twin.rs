//! Disks of the simulation: one in memory that forgets what was not synced, and one that spoils
//! another disk's calls.
//!
//! Both are deterministic: the same calls with the same seed do the same. They are compiled only for
//! tests and with the cargo feature `twin`, never into a released binary.
//!
//! Read in this order: [`memory_disk`], [`toxic`], [`faulty_disk`].

pub mod dice;
pub mod faulty_disk;
pub mod memory_disk;
pub mod toxic;

pub use dice::Dice;
pub use faulty_disk::FaultyDisk;
pub use memory_disk::MemoryDisk;
pub use toxic::{Toxic, ToxicKind, Toxics};
