//! Plans: what the leader should propose next, read from the state. Pure; a plan changes nothing.
//!
//! What a plan says may be out of date when it is proposed: apply judges again.

pub mod fold;
pub mod garbage;
pub mod offsets;
pub mod orphans;
pub mod retention;
