//! What a broker decides: groups, fetch waiting, fetch sessions, produce admission (pure).
//!
//! No clock, task, socket or store: times and ids are arguments, decisions are return values.

pub mod admission;
pub mod fetch;
pub mod groups;
