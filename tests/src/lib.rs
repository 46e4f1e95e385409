//! End-to-end suites against real processes, and the driver of the fuzz targets.
//!
//! Each suite is a program of `src/bin` with its parts in a module here. All chance follows from a seed
//! that is printed.
//!
//! Read in this order: [`report`], [`chance`], [`fuzz`], [`server`], [`wire`], [`calls`], [`kill9`], [`hurt`].

pub mod calls;
pub mod chance;
pub mod fuzz;
pub mod hurt;
pub mod kill9;
pub mod memory;
pub mod report;
pub mod server;
pub mod wire;
pub mod workspace;
