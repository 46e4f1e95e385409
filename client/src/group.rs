//! Groups: how partitions are shared out among members, and being a member.
//!
//! Read in this order: [`assignor`], `range`, `round_robin`.

pub mod assignor;
mod range;
mod round_robin;

pub use assignor::Assignor;
