//! Appending to files so that a torn tail is always found and never mistaken for data.
//!
//! Read in this order: [`disk`] (the port).

pub mod disk;
