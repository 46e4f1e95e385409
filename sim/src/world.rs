//! The simulated world of one node: disks that outlive it, its lives, the clock, the link between
//! its lanes and the metadata, and the way clients reach it.

pub mod chance;
pub mod clock;
pub mod disks;
pub mod faults;
pub mod gateway;
pub mod lives;
pub mod lossy_commits;
pub mod tasks;
